package faulty

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker is a controller of client-go's own style: listers, a rate-limited queue and workers. It keeps one Secret for
// each ConfigMap, and counts the Secrets in the ConfigMap.
type Worker struct {
	client  kubernetes.Interface
	configs corelisters.ConfigMapLister
	secrets corelisters.SecretLister
	synced  []cache.InformerSynced
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
	// Locked says that updates carry the version that was read.
	Locked bool
	// Careless says that it changes what it reads from the lister.
	Careless bool
}

// NewWorker registers the handlers of a worker.
func NewWorker(client kubernetes.Interface, configs coreinformers.ConfigMapInformer, secrets coreinformers.SecretInformer) (*Worker, error) {
	w := &Worker{
		client: client, configs: configs.Lister(), secrets: secrets.Lister(),
		synced: []cache.InformerSynced{configs.Informer().HasSynced, secrets.Informer().HasSynced},
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	_, err := configs.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.enqueue,
		UpdateFunc: func(_, after any) { w.enqueue(after) },
		DeleteFunc: w.enqueue,
	})
	if err != nil {
		return nil, err
	}
	_, err = secrets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.enqueueOwner,
		DeleteFunc: w.enqueueOwner,
	})
	return w, err
}

func (w *Worker) enqueue(obj any) {
	key, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	w.queue.Add(key)
}

// enqueueOwner reads the lister, as handlers of children do.
func (w *Worker) enqueueOwner(obj any) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	config, err := w.configs.ConfigMaps(secret.Namespace).Get(secret.Labels["of"])
	if err == nil {
		w.enqueue(config)
	}
}

// Run starts the workers.
func (w *Worker) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), w.synced...) {
		return fmt.Errorf("the caches do not sync")
	}
	for w.processNextWorkItem(ctx) {
	}
	return nil
}

func (w *Worker) processNextWorkItem(ctx context.Context) bool {
	key, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(key)
	if err := w.sync(ctx, key); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "syncing", "key", key)
		w.queue.AddRateLimited(key)
		return true
	}
	w.queue.Forget(key)
	return true
}

func (w *Worker) sync(ctx context.Context, key cache.ObjectName) error {
	config, err := w.configs.ConfigMaps(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	owned, err := w.secrets.Secrets(key.Namespace).List(labels.SelectorFromSet(labels.Set{"of": key.Name}))
	if err != nil {
		return err
	}
	if len(owned) == 0 {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: key.Name + "-", Labels: map[string]string{"of": key.Name}}}
		if w.Locked {
			made.Name = key.Name
		}
		_, err := w.client.CoreV1().Secrets(key.Namespace).Create(ctx, made, metav1.CreateOptions{})
		if w.Locked && apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	if config.Data["secrets"] != fmt.Sprint(len(owned)) {
		if !w.Careless {
			config = config.DeepCopy()
		}
		config.Data = map[string]string{"secrets": fmt.Sprint(len(owned))}
		_, err = w.client.CoreV1().ConfigMaps(key.Namespace).Update(ctx, config, metav1.UpdateOptions{})
	}
	return err
}
