package intake

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/intake/customer"
	"github.com/beagle-go/beagle/metricsd/intake/history"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/names"
)

// A shelf holds one customer's data in memory.
type shelf struct {
	customer string // empty for the default customer
	owner    uint64 // keeps the keys of the history apart from those of others
	names    [4]*names.Directory
	points   atomic.Uint64 // processed since the start
}

// countNames returns how many names of all kinds the shelf knows.
func (s *shelf) countNames() (n int) {
	for _, d := range s.names {
		known, _ := d.Len()
		n += known
	}
	return n
}

// shelves holds the shelves of all customers. Several goroutines may use it.
type shelves struct {
	history *history.Set
	room    [4]*names.Room // of each kind, for all customers
	most    int            // names of a kind of one customer
	own     *shelf         // of the default customer

	mu sync.RWMutex
	of map[string]*shelf
}

// newShelves bounds the names of each kind: of all customers, and of one of the file. The default
// customer has no bound of its own.
func newShelves(h *history.Set, all, most int) *shelves {
	s := &shelves{history: h, most: all, of: map[string]*shelf{}}
	for k := range s.room {
		s.room[k] = names.NewRoom(all)
	}
	s.own = s.shelfOf("")
	s.most = most
	return s
}

// shelfOf returns a customer's shelf, or makes one.
func (s *shelves) shelfOf(customer string) *shelf {
	if found := s.get(customer); found != nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &shelf{customer: customer}
	if customer != "" {
		made.owner = s.history.Owner(customer)
	}
	for k := range made.names {
		made.names[k] = names.NewBounded(s.room[k], s.most)
	}
	if found := s.of[customer]; found != nil { // another goroutine was faster
		return found
	}
	s.of[customer] = made
	return made
}

// get returns a customer's shelf, or nil if nothing is known of the customer.
func (s *shelves) get(customer string) *shelf {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[customer]
}

// all returns the shelves in the order of the customers' names.
func (s *shelves) all() (all []*shelf) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.of)) {
		all = append(all, s.of[name])
	}
	return all
}

// len returns how many names of a kind all customers have, and how many found no room.
func (s *shelves) len(k index.Kind) (known int, refused uint64) {
	for _, one := range s.all() {
		n, none := one.names[k].Len()
		known, refused = known+n, refused+none
	}
	return known, refused
}

// SetCustomers takes other keys while the intake runs. Whether there are customers is decided at
// the start, so that a line lost from a configuration does not open the door.
func (in *Intake) SetCustomers(keys *customer.Keys) error {
	if err := in.CheckCustomers(keys); err != nil {
		return err
	}
	return in.setKeys(keys)
}

// CheckCustomers returns the reason why [Intake.SetCustomers] would refuse keys.
func (in *Intake) CheckCustomers(keys *customer.Keys) error {
	if (keys == nil) != (in.door.keys.Load() == nil) {
		return errors.New("intake.customers was set or taken out; restart for this")
	}
	return in.checkKeys(keys)
}

func (in *Intake) setKeys(keys *customer.Keys) error {
	if err := in.checkKeys(keys); err != nil || keys == nil {
		return err
	}
	for _, name := range keys.Names() {
		in.processor.shelves.shelfOf(name)
	}
	in.door.keys.Store(keys)
	return nil
}

func (in *Intake) checkKeys(keys *customer.Keys) error {
	if keys == nil {
		return nil
	}
	if in.door.token == "" {
		return errors.New("intake.customers is set and intake.token is not; give the operator a token")
	}
	if name, both := keys.Customer(in.door.token); both {
		return fmt.Errorf("intake.token is a key of customer %s too; give the operator a token of its own",
			customer.DisplayName(name))
	}
	return nil
}

// A refusal is an error with its status.
type refusal struct {
	status int
	error
}

// shelf returns the shelf that a request asks for: customer= names it, and only the operator may
// name another customer's.
func (in *Intake) shelf(r *http.Request, c caller) (*shelf, error) {
	name := r.URL.Query().Get("customer")
	if name == "" {
		return in.processor.shelves.shelfOf(c.customer), nil
	}
	asked, ok := customer.Named(name)
	if !c.operator && (!ok || asked != c.customer) {
		return nil, refusal{http.StatusForbidden,
			errors.New("customer= names another customer than your key does; leave it out")}
	}
	if found := in.processor.shelves.get(asked); ok && found != nil {
		return found, nil
	}
	return nil, refusal{http.StatusNotFound,
		fmt.Errorf("customer %q is not known; /api/overview lists those that are", name)}
}

// customerJSON is a customer as the operator sees it.
type customerJSON struct {
	Customer string  `json:"customer"`
	Names    int     `json:"names"`
	Points   uint64  `json:"points"` // since the start of the intake
	Rate     float64 `json:"points_per_second"`
}

// customers lists all customers for the operator; without a key file there are none to list.
func (in *Intake) customers() (list []customerJSON) {
	if in.door.keys.Load() == nil {
		return nil
	}
	for _, s := range in.processor.shelves.all() {
		list = append(list, customerJSON{customer.DisplayName(s.customer), s.countNames(), s.points.Load(),
			in.processor.rankOf(s.customer).rate})
	}
	return list
}
