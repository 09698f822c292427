package llm

import "strings"

// PricesAsOf is the day of the table of prices. Prices change, so a price that a user gives takes
// precedence.
const PricesAsOf = "2026-11-21"

// prices holds list prices in dollars per million tokens, without discounts for batches or caches,
// from the catalogue of litellm 1.109.1.
var prices = map[string]Price{
	"claude-fable-5":    {In: 10, Out: 50},
	"claude-fable-5-1":  {In: 10, Out: 50},
	"claude-haiku-4-5":  {In: 1, Out: 5},
	"claude-haiku-5-5":  {In: 0.1, Out: 0.5, LongFrom: 100_000, LongIn: 0.5, LongOut: 2.5},
	"claude-mythos-5":   {In: 10, Out: 50},
	"claude-mythos-5-1": {In: 10, Out: 50},
	"claude-opus-4-5":   {In: 5, Out: 25},
	"claude-opus-4-6":   {In: 5, Out: 25},
	"claude-opus-4-7":   {In: 5, Out: 25},
	"claude-opus-4-8":   {In: 5, Out: 25},
	"claude-opus-5":     {In: 5, Out: 25},
	"claude-opus-5-5":   {In: 4, Out: 20},
	"claude-sonnet-4-5": {In: 3, Out: 15},
	"claude-sonnet-4-6": {In: 3, Out: 15},
	"claude-sonnet-5":   {In: 2, Out: 10},
	"claude-sonnet-5-5": {In: 2, Out: 10},
	"gpt-4.1":           {In: 2, Out: 8},
	"gpt-4.1-mini":      {In: 0.4, Out: 1.6},
	"gpt-4.1-nano":      {In: 0.1, Out: 0.4},
	"gpt-4o":            {In: 2.5, Out: 10},
	"gpt-4o-mini":       {In: 0.15, Out: 0.6},
	"gpt-5":             {In: 1.25, Out: 10},
	"gpt-5-mini":        {In: 0.25, Out: 2},
	"gpt-5-nano":        {In: 0.05, Out: 0.4},
	"gpt-5-pro":         {In: 15, Out: 120},
	"gpt-5.1":           {In: 1.25, Out: 10},
	"gpt-5.2":           {In: 1.75, Out: 14},
	"gpt-5.2-pro":       {In: 21, Out: 168},
	"gpt-5.3-codex":     {In: 1.75, Out: 14},
	"gpt-5.4":           {In: 2.5, Out: 15, LongFrom: 272_000, LongIn: 5, LongOut: 22.5},
	"gpt-5.4-mini":      {In: 0.75, Out: 4.5},
	"gpt-5.4-nano":      {In: 0.2, Out: 1.25},
	"gpt-5.4-pro":       {In: 30, Out: 180, LongFrom: 272_000, LongIn: 60, LongOut: 270},
	"gpt-5.5":           {In: 5, Out: 30, LongFrom: 272_000, LongIn: 10, LongOut: 45},
	"gpt-5.5-pro":       {In: 30, Out: 180, LongFrom: 272_000, LongIn: 60, LongOut: 270},
	"gpt-5.6":           {In: 4, Out: 20, LongFrom: 272_000, LongIn: 8, LongOut: 30},
	"gpt-5.6-luna":      {In: 0.2, Out: 1.2, LongFrom: 272_000, LongIn: 0.4, LongOut: 1.8},
	"gpt-5.6-sol":       {In: 4, Out: 20, LongFrom: 272_000, LongIn: 8, LongOut: 30},
	"gpt-5.6-terra":     {In: 2, Out: 12, LongFrom: 272_000, LongIn: 4, LongOut: 18},
	"gpt-6-astra":       {In: 10, Out: 50, LongFrom: 272_000, LongIn: 20, LongOut: 75},
	"gpt-6-luna":        {In: 0.1, Out: 0.5, LongFrom: 272_000, LongIn: 0.2, LongOut: 0.75},
	"gpt-6-sol":         {In: 2, Out: 10, LongFrom: 272_000, LongIn: 4, LongOut: 15},
	"gpt-6.1-sol":       {In: 2, Out: 10, LongFrom: 272_000, LongIn: 4, LongOut: 15},
	"gpt-6.1-terra":     {In: 1, Out: 5, LongFrom: 272_000, LongIn: 2, LongOut: 7.5},
	"o3":                {In: 2, Out: 8},
	"o3-mini":           {In: 1.1, Out: 4.4},
	"o3-pro":            {In: 20, Out: 80},
	"o4-mini":           {In: 1.1, Out: 4.4},
}

// PriceOf returns the price of a well-known model. A name with a date after it
// ("gpt-5-2025-08-07") has the price of the name without it.
func PriceOf(name string) (Price, bool) {
	p, ok := prices[withoutDate(name)]
	if ok {
		p.AsOf = PricesAsOf
	}
	return p, ok
}

// withoutDate cuts "-20250929" or "-2025-08-07" off the end of a name.
func withoutDate(name string) string {
	date := 0
	for end := len(name); end > 0 && date < 8; end-- {
		switch c := name[end-1]; {
		case '0' <= c && c <= '9':
			date++
		case c != '-':
			return name
		}
		if date == 8 {
			return strings.TrimSuffix(name[:end-1], "-")
		}
	}
	return name
}
