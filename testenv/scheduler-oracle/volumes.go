package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
	csitrans "k8s.io/csi-translation-lib"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// storage plays the volume controller and the provisioners behind the scheduler.
type storage struct {
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
}

// bind makes the genuine PreBind plugins write what they reserved for the pod,
// and then completes its claims. The plugins would wait for that; a context that
// has ended spares the wait, and the fake client does not look at it.
func (s *storage) bind(ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, node string) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	var claims []string
	for i := range pod.Spec.Volumes {
		switch source := &pod.Spec.Volumes[i]; {
		case source.PersistentVolumeClaim != nil:
			claims = append(claims, source.PersistentVolumeClaim.ClaimName)
		case source.Ephemeral != nil:
			claims = append(claims, ephemeral.VolumeClaimName(pod, source))
		}
	}
	if len(claims) == 0 {
		return nil
	}
	profile.RunPreBindPlugins(ended, state, pod, node)
	for _, name := range claims {
		if err := s.complete(ctx, pod.Namespace, name); err != nil {
			return err
		}
	}
	return nil
}

// complete binds a claim to the volume that is reserved to it, or provisions one
// if the driver runs on the chosen node.
func (s *storage) complete(ctx context.Context, namespace, name string) error {
	claim, err := s.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted) {
		return err
	}
	pv, err := s.reserved(ctx, claim)
	if err != nil {
		return err
	}
	if pv == nil {
		pv, err = s.provision(ctx, claim)
		if err != nil {
			return err
		}
	}
	claim = claim.DeepCopy()
	if pv != nil {
		claim.Spec.VolumeName = pv.Name
		claim.Status.Phase = v1.ClaimBound
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	}
	newer(&claim.ObjectMeta)
	if _, err := s.client.CoreV1().PersistentVolumeClaims(namespace).Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return s.settle(ctx, claim, pv)
}

// reserved returns the volume that a claim is to be bound to: one that a user
// reserved, or else the smallest. If a pod names a claim twice, the scheduler
// reserves a second volume, which the volume controller releases.
func (s *storage) reserved(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	all, err := s.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var own []*v1.PersistentVolume
	for i := range all.Items {
		if ref := all.Items[i].Spec.ClaimRef; ref != nil && ref.UID == claim.UID {
			own = append(own, &all.Items[i])
		}
	}
	slices.SortFunc(own, func(a, b *v1.PersistentVolume) int {
		chosen := func(pv *v1.PersistentVolume) bool {
			return metav1.HasAnnotation(pv.ObjectMeta, volume.AnnBoundByController)
		}
		if chosen(a) != chosen(b) {
			return map[bool]int{false: -1, true: 1}[chosen(a)]
		}
		return a.Spec.Capacity.Storage().Cmp(*b.Spec.Capacity.Storage())
	})
	for i, pv := range own {
		pv.Status.Phase = v1.VolumeBound
		if i > 0 {
			pv.Status.Phase = v1.VolumeAvailable
			pv.Spec.ClaimRef = nil
		}
		newer(&pv.ObjectMeta)
		if own[i], err = s.client.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		if i > 0 {
			if err := s.settle(ctx, nil, own[i]); err != nil {
				return nil, err
			}
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	return own[0], nil
}

func (s *storage) provision(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	name := claim.Annotations[volume.AnnSelectedNode]
	if name == "" {
		return nil, nil
	}
	class, err := s.client.StorageV1().StorageClasses().Get(ctx, volume.GetPersistentVolumeClaimClass(claim), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	driver := class.Provisioner
	if csi, err := csitrans.New().GetCSINameFromInTreeName(driver); err == nil {
		driver = csi
	}
	labels, runs := s.topology(ctx, name, driver)
	if !runs {
		return nil, nil
	}
	var expressions []v1.NodeSelectorRequirement
	for key, value := range labels {
		expressions = append(expressions, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}})
	}
	var affinity *v1.VolumeNodeAffinity
	if len(expressions) > 0 {
		affinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: expressions}},
		}}
	}
	made := fmt.Sprintf("pvc-%s-%s", claim.Namespace, claim.Name)
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: made, ResourceVersion: "1"},
		Spec: v1.PersistentVolumeSpec{
			Capacity:         v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			AccessModes:      claim.Spec.AccessModes,
			VolumeMode:       claim.Spec.VolumeMode,
			StorageClassName: class.Name,
			ClaimRef:         &v1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{
				CSI: &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: made},
			},
			NodeAffinity: affinity,
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
	}
	return s.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
}

// topology returns the labels of a node by which a driver tells where its volumes
// can be reached, and whether the driver runs there and the node has the labels.
func (s *storage) topology(ctx context.Context, name, driver string) (map[string]string, bool) {
	csiNode, err := s.client.StorageV1().CSINodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, false
	}
	node, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, false
	}
	for _, known := range csiNode.Spec.Drivers {
		if known.Name != driver {
			continue
		}
		labels := map[string]string{}
		for _, key := range known.TopologyKeys {
			value, found := node.Labels[key]
			if !found {
				return nil, false
			}
			labels[key] = value
		}
		return labels, true
	}
	return nil, false
}

// settle waits until the scheduler has seen both objects, or one of them.
func (s *storage) settle(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) error {
	claims := s.informers.Core().V1().PersistentVolumeClaims().Lister()
	volumes := s.informers.Core().V1().PersistentVolumes().Lister()
	return wait.PollUntilContextTimeout(ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		if claim != nil {
			seen, err := claims.PersistentVolumeClaims(claim.Namespace).Get(claim.Name)
			if err != nil || seen.ResourceVersion != claim.ResourceVersion {
				return false, nil
			}
		}
		if pv == nil {
			return true, nil
		}
		found, err := volumes.Get(pv.Name)
		return err == nil && found.ResourceVersion == pv.ResourceVersion, nil
	})
}

// newer raises the resource version, which the fake client does not do.
func newer(object *metav1.ObjectMeta) {
	version, _ := strconv.Atoi(object.ResourceVersion)
	object.ResourceVersion = strconv.Itoa(version + 1)
}
