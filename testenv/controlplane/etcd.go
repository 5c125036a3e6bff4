package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// newEtcdCommand returns an etcd of one member for tests: it listens on the one
// address given and does not wait for the disk, because nothing it holds is to
// survive the machine. Killing the process loses nothing: the kernel has the data.
func newEtcdCommand() *cobra.Command {
	var listen, folder string
	command := &cobra.Command{
		Use:          "etcd",
		Short:        "A store of one member that does not wait for the disk",
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return serveEtcd(listen, folder) },
	}
	command.Flags().StringVar(&listen, "listen", "", "client URL, such as http://127.0.0.1:2379")
	command.Flags().StringVar(&folder, "data-dir", "", "folder for its files")
	return command
}

func serveEtcd(listen, folder string) error {
	client, err := url.Parse(listen)
	if err != nil || client.Host == "" {
		return fmt.Errorf("--listen %q: expected a URL such as http://127.0.0.1:2379", listen)
	}
	config := embed.NewConfig()
	config.Dir = folder
	config.UnsafeNoFsync = true
	config.LogLevel = "warn"
	config.ListenClientUrls = []url.URL{*client}
	config.AdvertiseClientUrls = []url.URL{*client}
	// A member alone still opens a port for peers; port 0 lets the kernel choose it.
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenPeerUrls = []url.URL{peer}
	config.AdvertisePeerUrls = []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(30 * time.Second):
		return fmt.Errorf("etcd was not ready within 30 s")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return err
	}
}
