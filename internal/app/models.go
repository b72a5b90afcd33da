package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"facetrack/internal/models"
)

// ModelsCmd is the group of commands about model files.
type ModelsCmd struct {
	List   ModelsListCmd   `cmd:"" help:"Show the models, where they come from and where they lie."`
	Fetch  ModelsFetchCmd  `cmd:"" help:"Download models from their pinned origins and check them."`
	Verify ModelsVerifyCmd `cmd:"" help:"Check the content of the model files on this machine."`
}

// ModelsListCmd is `facetrack models list`.
type ModelsListCmd struct{}

// ModelsFetchCmd is `facetrack models fetch`.
type ModelsFetchCmd struct {
	Names []string `arg:"" optional:"" help:"Models; without names all that facetrack uses by default."`
}

// ModelsVerifyCmd is `facetrack models verify`.
type ModelsVerifyCmd struct {
	Names []string `arg:"" optional:"" help:"Models; without names all public ones that are there."`
}

// Run is `facetrack models list`.
func (ModelsListCmd) Run() error {
	store, err := models.NewStore()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "model\tlicence\tplace\torigin")
	for _, m := range models.All() {
		place := "not here"
		if found, err := store.Find(m.Name); err == nil {
			place = found.Path
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, m.Licence, place, cmp.Or(m.URL, "this project"))
	}
	return w.Flush()
}

// Run is `facetrack models fetch`.
func (c *ModelsFetchCmd) Run(ctx context.Context) error {
	store, err := models.NewStore()
	if err != nil {
		return err
	}
	screen := newScreen(os.Stderr, false)
	screen.note("models that are not here yet go to %s", store.Cache())
	return store.Fetch(ctx, c.Names, func(p models.Progress) {
		switch {
		case p.Present:
			screen.note("%s is here", p.Model.Name)
		case p.Done:
			screen.note("%s fetched, %.1f MB", p.Model.Name, float64(p.Bytes)/1e6)
		default:
			screen.line(fmt.Sprintf("%s: %.1f of %.1f MB", p.Model.Name, float64(p.Bytes)/1e6, float64(max(p.Total, 0))/1e6))
		}
	})
}

// Run is `facetrack models verify`.
func (c *ModelsVerifyCmd) Run() error {
	store, err := models.NewStore()
	if err != nil {
		return err
	}
	names, all := c.Names, len(c.Names) == 0
	if all {
		for _, m := range models.All() {
			if m.Content == nil {
				names = append(names, m.Name)
			}
		}
	}
	var errs []error
	checked := 0
	for _, name := range names {
		found, err := store.Verify(name)
		if all && errors.Is(err, models.ErrMissing) {
			continue
		}
		checked++
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Printf("%s: good (%s)\n", name, found.Path)
	}
	if checked == 0 {
		return errors.New("no model is on this machine; run: facetrack models fetch")
	}
	return errors.Join(errs...)
}
