package hotspots

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

const hoursAYear = 365 * 24

// A Service describes how a service runs, and its costs.
type Service struct {
	Name        string
	Cores       float64 // that it keeps busy; 0 to take them from the profiles
	Utilisation float64 // busy cores over cores paid for; 0 counts as 1
	Price       *beagle.CorePrice
	Follows     string  // do replicas follow processor use: yes, no, partly, or "" for unknown
	Fraction    float64 // with partly: of a saving that becomes fewer machines
	Replicas    float64 // the mean; 0 when unknown
	LeastReps   float64 // the autoscaler's minimum; 0 when unknown
}

// A listPrice is a row of the built-in table: on-demand, Linux, for an hour of
// one virtual processor with the memory that comes with it.
type listPrice struct {
	family string // cloud/family
	hour   float64
	where  string
	asOf   string
}

// listPrices: prices change seldom, and discounts change them for everybody: a year's
// figure from this table is an order of magnitude, and --price is better.
var listPrices = []listPrice{
	{"aws/c6i", 0.0425, "us-east-1", "2026-06"},
	{"aws/c7a", 0.0513, "us-east-1", "2026-06"},
	{"aws/c7g", 0.0363, "us-east-1", "2026-06"},
	{"aws/c7i", 0.0446, "us-east-1", "2026-06"},
	{"aws/m6i", 0.0480, "us-east-1", "2026-06"},
	{"aws/m7a", 0.0580, "us-east-1", "2026-06"},
	{"aws/m7g", 0.0408, "us-east-1", "2026-06"},
	{"aws/m7i", 0.0504, "us-east-1", "2026-06"},
	{"aws/r7i", 0.0662, "us-east-1", "2026-06"},
	{"azure/Dasv5", 0.0430, "East US", "2025-06"},
	{"azure/Dsv5", 0.0480, "East US", "2025-06"},
	{"azure/Fsv2", 0.0423, "East US", "2025-06"},
	{"gcp/e2", 0.0335, "us-central1", "2026-05"},
	{"gcp/n2", 0.0486, "us-central1", "2026-05"},
	{"gcp/n2d", 0.0422, "us-central1", "2026-05"},
	{"gcp/t2d", 0.0422, "us-central1", "2025-06"},
}

// ParsePrice reads a price of an hour of one core: a number in US dollars,
// 0.04EUR, or a row of the built-in table such as aws/c7g.
func ParsePrice(text string) (*beagle.CorePrice, error) {
	for _, row := range listPrices {
		if strings.EqualFold(row.family, text) {
			return &beagle.CorePrice{
				Amount: row.hour, Currency: "USD", AsOf: row.asOf,
				Source: row.family + ", on demand in " + row.where,
			}, nil
		}
	}
	number := strings.TrimRight(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	currency := text[len(number):]
	amount, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(number), "$"), 64)
	if err != nil || !(amount > 0) || amount > 1000 || len(currency) != 0 && len(currency) != 3 {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("invalid price %q", text),
			Remedy: "give the cost of an hour of one core, as in 0.04 or 0.04EUR, or a family of the built-in table: " +
				strings.Join(families(), ", "),
		}
	}
	if currency == "" {
		currency = "USD"
	}
	return &beagle.CorePrice{Amount: amount, Currency: currency, Source: "given"}, nil
}

func families() []string {
	var all []string
	for _, row := range listPrices {
		all = append(all, row.family)
	}
	inorder.Sort(all)
	return all
}

// year returns the price of this many busy cores for a year.
func (s *Service) year(cores float64) float64 {
	if s.Price == nil {
		return 0
	}
	paid := cores
	if s.Utilisation > 0 {
		paid = cores / s.Utilisation
	}
	return paid * s.Price.Amount * hoursAYear
}

// scaling returns which part of a saving becomes fewer machines, and why.
func (s *Service) scaling() beagle.Autoscaling {
	a := beagle.Autoscaling{Follows: s.Follows, Fraction: 1, Reason: "the replicas follow processor use"}
	switch s.Follows {
	case "yes":
	case "no":
		a.Fraction, a.Reason = 0, "the replicas do not follow processor use, so a saving frees no machine"
	case "partly":
		a.Fraction = s.Fraction
		a.Reason = fmt.Sprintf("%.0f %% of a saving becomes fewer replicas", 100*s.Fraction)
	default:
		a.Follows, a.Reason = "unknown", "it is not known whether the replicas follow processor use; taken as if "+
			"they did (beagle.yaml: replicas_follow_cpu)"
	}
	if a.Fraction > 0 && s.LeastReps > 0 && s.Replicas > 0 && s.Replicas <= s.LeastReps {
		a.Fraction = 0
		a.Reason = fmt.Sprintf("the service stands at its least number of replicas (%g), so a saving frees no machine",
			s.LeastReps)
	}
	return a
}

// saving returns the saving in a year if a function cost nothing.
func (s *Service) saving(a beagle.Autoscaling, share, cost float64) (saved float64, note string) {
	if a.Fraction == 0 {
		return 0, a.Reason
	}
	if s.LeastReps > 0 && s.Replicas > 0 {
		if most := 1 - s.LeastReps/s.Replicas; share*a.Fraction > most && share > 0 {
			return cost * most / share, fmt.Sprintf("no more than down to %g replicas, the autoscaler's least",
				s.LeastReps)
		}
	}
	return cost * a.Fraction, ""
}
