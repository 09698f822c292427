package local

const outOfBudget = "the budget does not cover another call of "

// dismiss ends the asking of a model whose next call the budget does not cover.
// Cheaper ones go on; when none is left, models are not asked any more.
func (d *desk) dismiss(model string) error {
	s := d.r.course.Search
	if !s.Open() || d.dismissed(model) || len(d.turns.again) > 0 {
		return nil // it was told, or what is taken again tells when
	}
	if err := d.turns.note(turn{Dismissed: model}); err != nil {
		return err
	}
	if d.part(model); !s.Open() {
		d.r.d.Watch.Warn("the budget for models is used up" + d.then())
		return nil
	}
	d.r.d.Watch.Warn(outOfBudget + model + ": the search goes on with the others")
	return nil
}

// dismissed reports whether a model is not asked any more.
func (d *desk) dismissed(model string) bool {
	for _, a := range d.r.spec.Models.Authors() {
		if a.Model == model && !d.r.course.Search.Book(a.Name).Dismissed {
			return false
		}
	}
	return true
}

// part takes leave of a model.
func (d *desk) part(model string) {
	if d.r.course.Search.Dismiss(model); !d.r.course.Search.Open() {
		d.dry = false
	}
}

// shut ends the asking of models.
func (d *desk) shut(why string) error {
	s := d.r.course.Search
	if !s.Open() || len(d.turns.again) > 0 {
		return nil // it is closed, or what is taken again tells when
	}
	d.r.d.Watch.Warn(why + d.then())
	if err := d.turns.note(turn{Closed: why}); err != nil {
		return err
	}
	d.close()
	return nil
}

// then says what becomes of the search without models.
func (d *desk) then() string {
	if d.r.spec.Models.NoRules {
		return ": the search ends"
	}
	return ": the search goes on with rules"
}

// close gives the rules what was kept for the models.
func (d *desk) close() {
	d.r.course.Search.Close()
	d.dry = false
}
