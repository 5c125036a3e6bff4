package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
)

// decode reads one object and brings it into the form in which an API server
// would have stored it.
func decode(data []byte, validate bool) (runtime.Object, error) {
	obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	if namespaced(obj) && accessor.GetNamespace() == "" {
		accessor.SetNamespace(v1.NamespaceDefault)
	}
	if accessor.GetUID() == "" {
		accessor.SetUID(types.UID(fmt.Sprintf("%T/%s/%s", obj, accessor.GetNamespace(), accessor.GetName())))
	}
	if accessor.GetResourceVersion() == "" {
		accessor.SetResourceVersion("1")
	}
	legacyscheme.Scheme.Default(obj)

	switch obj := obj.(type) {
	case *v1.Pod:
		return storedPod(obj, validate)
	case *v1.Node:
		return obj, validNode(obj, validate)
	}
	return obj, nil
}

func namespaced(obj runtime.Object) bool {
	switch obj.(type) {
	case *v1.Node, *v1.Namespace, *v1.PersistentVolume, *resourcev1.DeviceClass, *resourcev1.ResourceSlice,
		*storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver, *storagev1.VolumeAttachment:
		return false
	}
	return true
}

// storedPod applies what an API server does when a pod is created, e.g. merging
// matchLabelKeys into label selectors, and keeps the given status.
func storedPod(pod *v1.Pod, validate bool) (*v1.Pod, error) {
	var internal core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, &internal, nil); err != nil {
		return nil, err
	}
	ctx := genericapirequest.WithNamespace(context.Background(), pod.Namespace)
	podregistry.Strategy.PrepareForCreate(ctx, &internal)
	if validate {
		if errs := podregistry.Strategy.Validate(ctx, &internal); len(errs) > 0 {
			return nil, refused("Pod", pod.Namespace+"/"+pod.Name, errs)
		}
	}
	stored := &v1.Pod{}
	if err := corev1.Convert_core_Pod_To_v1_Pod(&internal, stored, nil); err != nil {
		return nil, err
	}
	qos := stored.Status.QOSClass
	stored.Status = *pod.Status.DeepCopy()
	if stored.Status.QOSClass == "" {
		stored.Status.QOSClass = qos
	}
	return stored, nil
}

func validNode(node *v1.Node, validate bool) error {
	if !validate {
		return nil
	}
	var internal core.Node
	if err := corev1.Convert_v1_Node_To_core_Node(node, &internal, nil); err != nil {
		return err
	}
	if errs := validation.ValidateNode(&internal); len(errs) > 0 {
		return refused("Node", node.Name, errs)
	}
	return nil
}

func refused(kind, name string, errs field.ErrorList) error {
	return fmt.Errorf("%s %q is invalid: %w", kind, name, errs.ToAggregate())
}
