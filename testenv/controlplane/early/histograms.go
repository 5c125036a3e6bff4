// Package early switches on, before any metric is registered, what Kubernetes
// 1.37 has on by default but kube-apiserver forgets to pass on: native
// histograms, with buckets 10 % wide beside the classic ones (KEP-5808).
//
// Packages are initialised in the order of their paths once all they import is,
// so this one, which imports little, comes before those that register metrics.
package early

import (
	"sync/atomic"
	_ "unsafe" // for the name below

	_ "k8s.io/component-base/metrics"
)

//go:linkname nativeHistograms k8s.io/component-base/metrics/internal.nativeHistogramsEnabled
var nativeHistograms atomic.Bool

func init() { nativeHistograms.Store(true) }
