//go:build go1.25

package kontend

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// discovery answers the requests by which clients learn what a server has, such as those of a RESTMapper of their own.
// They are no steps: the answer is the same at any time, and they also work outside of a reconcile, where operators look
// for the platform that they run on. The answer is nil for all other requests.
func (e *exploration) discovery(r *http.Request) *http.Response {
	if r.Method != http.MethodGet {
		return nil
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var answer any
	switch {
	case len(parts) == 1 && parts[0] == "version":
		answer = version.Info{Major: "1", Minor: "35", GitVersion: "v1.35.0"}
	case len(parts) == 1 && parts[0] == "api":
		answer = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case len(parts) == 1 && parts[0] == "apis":
		answer = e.groups()
	case len(parts) == 2 && parts[0] == "api":
		answer = e.served("", parts[1])
	case len(parts) == 2 && parts[0] == "apis":
		if at := slices.IndexFunc(e.groups().Groups, func(group metav1.APIGroup) bool { return group.Name == parts[1] }); at >= 0 {
			answer = e.groups().Groups[at]
		}
	case len(parts) == 3 && parts[0] == "apis":
		answer = e.served(parts[1], parts[2])
	case parts[0] == "api" || parts[0] == "apis":
		return nil
	}
	if answer == nil {
		return responseTo(r, http.StatusNotFound, []byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`))
	}
	body, _ := json.Marshal(answer)
	return responseTo(r, http.StatusOK, body)
}

// groups is all groups but the one without a name.
func (e *exploration) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, r := range e.resources {
		if r.Group == "" {
			continue
		}
		at := slices.IndexFunc(list.Groups, func(group metav1.APIGroup) bool { return group.Name == r.Group })
		if at < 0 {
			list.Groups = append(list.Groups, metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: r.Group})
			at = len(list.Groups) - 1
		}
		found := metav1.GroupVersionForDiscovery{GroupVersion: r.Group + "/" + r.Version, Version: r.Version}
		if group := &list.Groups[at]; !slices.Contains(group.Versions, found) {
			group.Versions = append(group.Versions, found)
			group.PreferredVersion = group.Versions[0]
		}
	}
	return list
}

// served is the resources of a version of a group; nil where there are none.
func (e *exploration) served(group, version string) any {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(group+"/"+version, "/")}
	for _, r := range e.resources {
		if r.Group == group && r.Version == version {
			verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Plural, SingularName: strings.ToLower(r.Kind), Namespaced: r.Namespaced, Kind: r.Kind, Verbs: verbs,
			})
		}
	}
	if list.APIResources == nil {
		return nil
	}
	return list
}
