package main

import (
	"reflect"
	"strings"

	"weir"
)

// names tells the names that the client writes down, for a comparison with the document of the interface.
func names() error {
	return tell(object{
		"Decision": fields(weir.Decision{}), "ReserveReply": fields(weir.Place{}), "SettleReply": fields(weir.Settled{}),
		"SlotReply": fields(weir.SlotState{}), "CheckRequest": list(fields(weir.Question{})),
		"ReserveRequest": list(fields(weir.PlaceQuestion{})),
		"Reason": []weir.Reason{
			weir.Admitted, weir.OverShare, weir.CapReached, weir.LimitExceeded, weir.Concurrency, weir.Overloaded,
			weir.Unavailable, weir.Never, weir.Unreachable,
		},
	})
}

// fields is each field, and whether it is always there.
func fields(of any) map[string]bool {
	told := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			told[name] = options != "omitempty"
		}
	}
	return told
}

func list(fields map[string]bool) []string {
	told := []string{}
	for name := range fields {
		told = append(told, name)
	}
	return told
}
