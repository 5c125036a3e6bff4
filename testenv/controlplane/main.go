// Command controlplane is a whole Kubernetes control plane in one binary: its
// first argument, or the name it is called by, says which component runs.
//
// One binary keeps link time and size down, since the components share most of
// their packages. Each is the published code, entered as upstream's own main does.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	_ "controlplane/early"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var components = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
	"etcd":                    newEtcdCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, known := components[name]; !known && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	make, known := components[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: controlplane COMPONENT [FLAG]...; components:")
		for each := range components {
			fmt.Fprintln(os.Stderr, "  "+each)
		}
		os.Exit(2)
	}
	os.Exit(cli.Run(make()))
}
