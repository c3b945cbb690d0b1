//go:build go1.25

package kontend

// mapOrder is returned by the random numbers of the runtime, once kontend has changed the linked binary: it decides in
// which order maps are iterated. The low bits say where an iteration begins; the others keep math/rand from dwelling on
// values that it rejects.
//
//lint:ignore U1000 what reads it is not in the source
var mapOrder uint64 = usualOrder

const usualOrder = 0x2545F4914F6CDD18

// chooseOrder sets the order for the run that goes on: 0 is the usual one, 1 another one, which differs for every map
// with two elements or more.
func chooseOrder(order uint64) { mapOrder = usualOrder + order }
