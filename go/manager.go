//go:build go1.25

package kontend

import (
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// manager is a real manager, so that whatever operators ask one for exists, with our cache and transport. It is never
// started: the explorer decides what runs.
type manager struct {
	ctrl.Manager
	runnables     []ctrlmanager.Runnable
	recordsEvents bool
}

func newManager(e *exploration, options ctrl.Options) (*manager, error) {
	rules := &rest.Config{Host: "http://kontend", QPS: -1, Transport: transport{e}}
	rules.ContentType, rules.AcceptContentTypes = "application/json", "application/json"
	skip := true
	options.Scheme = e.scheme
	options.Controller.SkipNameValidation = &skip
	options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return e.mapper, nil }
	options.NewCache = func(*rest.Config, cache.Options) (cache.Cache, error) { return e.views, nil }
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.HealthProbeBindAddress, options.PprofBindAddress = "0", "0"
	options.LeaderElection = false
	options.Logger = ctrl.Log
	made, err := ctrl.NewManager(rules, options)
	return &manager{Manager: made, recordsEvents: e.recordsEvents}, err
}

// Add collects controllers; other runnables are not run.
func (m *manager) Add(runnable ctrlmanager.Runnable) error {
	m.runnables = append(m.runnables, runnable)
	return nil
}

// Elected is closed: the explored process is the leader.
func (m *manager) Elected() <-chan struct{} {
	elected := make(chan struct{})
	close(elected)
	return elected
}

func (m *manager) GetControllerOptions() config.Controller                { return m.Manager.GetControllerOptions() }
func (m *manager) GetEventRecorderFor(source string) record.EventRecorder { return m.recorder(source) }

// GetLogger returns one that writes nothing: see reconciledKind.
func (m *manager) GetLogger() logr.Logger { return logr.New(noted{}) }

// noted is a sink of logs that writes nothing and keeps the values of its logger.
type noted struct{ values []any }

func (noted) Init(logr.RuntimeInfo)          {}
func (noted) Enabled(int) bool               { return false }
func (noted) Info(int, string, ...any)       {}
func (noted) Error(error, string, ...any)    {}
func (s noted) WithName(string) logr.LogSink { return s }
func (s noted) WithValues(values ...any) logr.LogSink {
	return noted{append(append([]any{}, s.values...), values...)}
}
