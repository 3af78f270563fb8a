package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// floor does by itself what attached waits for, with no controller: n routes, and one status for each as soon as the watch
// shows it. So long the API server and the watchers take on this machine, whoever serves.
func (b *bench) floor(ctx context.Context) error {
	if err := b.stopController(ctx); err != nil {
		return err
	}
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	routes := b.gw.GatewayV1().HTTPRoutes(b.namespace)
	list, err := routes.List(ctx, metav1.ListOptions{LabelSelector: "gwbench=route"})
	if err != nil {
		return err
	}
	added := make(chan *gwv1.HTTPRoute, b.n)
	var settled atomic.Int64
	go func() {
		defer close(added)
		// An API server closes the watches of those who do not keep up.
		for version := list.ResourceVersion; wctx.Err() == nil; {
			watch, err := routes.Watch(wctx, metav1.ListOptions{LabelSelector: "gwbench=route", ResourceVersion: version})
			if err != nil {
				return
			}
			for e := range watch.ResultChan() {
				r, is := e.Object.(*gwv1.HTTPRoute)
				if !is {
					return
				}
				version = r.ResourceVersion
				switch {
				case e.Type == "ADDED":
					added <- r
				case e.Type == "MODIFIED" && b.settled(r):
					settled.Add(1)
				}
			}
		}
	}()
	start, statuses := time.Now(), make(chan error, 1)
	go func() {
		statuses <- b.each(ctx, b.n, func(int) error {
			r, is := <-added
			if !is {
				return fmt.Errorf("the watch has ended")
			}
			_, err := routes.Patch(ctx, r.Name, types.JSONPatchType, b.status(r), metav1.PatchOptions{}, "status")
			return err
		})
	}()
	err = b.each(ctx, b.n, func(i int) error {
		name := fmt.Sprintf("floor-%d", i)
		_, err := routes.Create(ctx, b.route(name, []string{name + ".example.com"}, rule("", "backend", 80)), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	b.results["floor_requests_s"] = round(time.Since(start).Seconds())
	if err := <-statuses; err != nil {
		return err
	}
	if err := b.until(ctx, 2*time.Millisecond, func() (bool, error) { return settled.Load() == int64(b.n), nil }); err != nil {
		return fmt.Errorf("%d of %d statuses seen: %w", settled.Load(), b.n, err)
	}
	b.results["floor_all_statuses_s"] = round(time.Since(start).Seconds())
	if err := routes.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "gwbench=route"}); err != nil {
		return err
	}
	return b.scale(ctx, 1)
}

// status is a patch that gives a route what a controller would say of it.
func (b *bench) status(r *gwv1.HTTPRoute) []byte {
	var conditions []metav1.Condition
	for _, t := range []string{"Accepted", "ResolvedRefs", "Programmed"} {
		conditions = append(conditions, metav1.Condition{Type: t, Status: metav1.ConditionTrue, Reason: t, Message: "As it should be",
			ObservedGeneration: r.Generation, LastTransitionTime: metav1.Now()})
	}
	parents := []gwv1.RouteParentStatus{{ParentRef: r.Spec.ParentRefs[0], ControllerName: "example.com/floor", Conditions: conditions}}
	patch, _ := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": r.ResourceVersion},
		{"op": "add", "path": "/status", "value": map[string]any{"parents": parents}},
	})
	return patch
}
