package faulty

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Instruction is a part of a reconcile that is written as data. There is an interpreter of the same in Python.
type Instruction struct {
	Op    string        `json:"op"`
	Var   string        `json:"var"`
	Name  string        `json:"name"`
	Live  bool          `json:"live"`
	Key   string        `json:"key"`
	Value string        `json:"value"`
	From  string        `json:"from"`
	Lock  bool          `json:"lock"`
	Then  []Instruction `json:"then"`
	Else  []Instruction `json:"else"`
}

// Interpreter reconciles ConfigMaps by instructions.
type Interpreter struct {
	client.Client
	Live    client.Reader
	Program []Instruction
}

// ParseProgram reads instructions.
func ParseProgram(text string) (program []Instruction, err error) {
	return program, json.Unmarshal([]byte(text), &program)
}

// SetupWithManager adds the controller to a manager.
func (i *Interpreter) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("configs").Complete(i)
}

type frame struct {
	objects, bases map[string]*corev1.ConfigMap
	again          bool
	ended          bool
}

// Reconcile carries out the instructions for the ConfigMap "c"; others are its output.
func (i *Interpreter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if req.Name != "c" {
		return ctrl.Result{}, nil
	}
	f := &frame{objects: map[string]*corev1.ConfigMap{}, bases: map[string]*corev1.ConfigMap{}}
	err := i.run(ctx, f, i.Program)
	return ctrl.Result{Requeue: f.again}, err
}

func (i *Interpreter) run(ctx context.Context, f *frame, program []Instruction) error {
	for _, in := range program {
		if f.ended {
			return nil
		}
		if err := i.step(ctx, f, in); err != nil {
			return err
		}
	}
	return nil
}

func (i *Interpreter) step(ctx context.Context, f *frame, in Instruction) error {
	key := client.ObjectKey{Namespace: "default", Name: in.Name}
	object := f.objects[in.Var]
	switch in.Op {
	case "get":
		var reader client.Reader = i.Client
		if in.Live {
			reader = i.Live
		}
		object = &corev1.ConfigMap{}
		err := reader.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			delete(f.objects, in.Var)
			return nil
		}
		if err != nil {
			return err
		}
		f.objects[in.Var], f.bases[in.Var] = object, object.DeepCopy()
	case "set":
		if object == nil {
			return nil
		}
		value := in.Value
		if from := f.objects[in.From]; from != nil {
			value = from.Data[in.Key] + value
		}
		if len(value) > 3 {
			value = value[:3]
		}
		if object.Data == nil {
			object.Data = map[string]string{}
		}
		object.Data[in.Key] = value
	case "update":
		if object != nil {
			return i.Update(ctx, object)
		}
	case "patch":
		if object == nil {
			return nil
		}
		patch := client.MergeFrom(f.bases[in.Var])
		if in.Lock {
			patch = client.MergeFromWithOptions(f.bases[in.Var], client.MergeFromWithOptimisticLock{})
		}
		return i.Patch(ctx, object, patch)
	case "create":
		meta := metav1.ObjectMeta{Namespace: "default", Name: in.Name}
		made := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{in.Key: in.Value}}
		return client.IgnoreAlreadyExists(i.Create(ctx, made))
	case "delete":
		if object != nil {
			return client.IgnoreNotFound(i.Delete(ctx, object))
		}
	case "if":
		if object != nil && object.Data[in.Key] == in.Value {
			return i.run(ctx, f, in.Then)
		}
		return i.run(ctx, f, in.Else)
	case "again":
		f.again = true
	case "return":
		f.ended = true
	}
	return nil
}
