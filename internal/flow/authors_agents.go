package flow

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/coder"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A coding agent has tools and looks around, so a turn takes longer than a call
// of a model.
const (
	agentLimit = 10 * time.Minute
	agentShare = 4 // share of the budget in dollars or tokens that a turn sets aside
)

// AgentModel returns the entry of a coding agent among the models: the search asks both alike.
func AgentModel(command string) (llm.Model, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return llm.Model{},
			usage("--agent is empty",
				"give the command line of an agent that speaks the Agent Client Protocol: --agent 'gemini "+
					"--experimental-acp'")
	}
	return llm.Model{Name: "agent:" + filepath.Base(words[0]), Provider: coder.Provider, URL: command, Weight: 1,
		Price: llm.Price{AsOf: "reported by the agent"}}, nil
}

func isAgent(m llm.Model) bool { return m.Provider == coder.Provider }

// connect returns the askers of a run: models and agents, or a recording of them.
func (au *authors) connect(budget *llm.Budget) (llm.Asker, error) {
	m := &au.spec.Models
	if m.Replay != "" {
		return &llm.Replayer{Dir: m.Replay}, nil
	}
	models, err := m.client(budget)
	if err != nil {
		return nil, err
	}
	var out llm.Asker = models
	if slices.ContainsFunc(m.Ask, isAgent) {
		out = &splitter{spec: m, models: models, agents: au.coder(budget)}
	}
	return out, nil
}

// coder returns the asker of agents. They get Beagle's own tools if this program is Beagle.
func (au *authors) coder(budget *llm.Budget) *coder.Coder {
	m := &au.spec.Models
	c := &coder.Coder{
		Unit: au.unit, Load: au.load(),
		Models: m.Ask, Budget: budget, Most: m.Caps.Money / agentShare, MostTokens: m.Caps.Tokens / agentShare,
		Dir: au.lab.dir,
	}
	if au.spec.Redacted() {
		for _, g := range au.spec.givenCorpora() {
			c.Omit = append(c.Omit, g.path)
		}
	}
	if isBeagle() {
		c.Tools = au.tools()
	}
	return c
}

// tools returns the command that serves Beagle's tools to an agent of this search.
func (au *authors) tools() []string {
	o := ToolOrder{Spec: Defaults(), Search: au.works.store.RunDir(au.works.run), Veiled: true}
	o.Spec.Strict = true
	if o.Spec.Models.Redact = "auto"; au.spec.Redacted() {
		o.Spec.Models.Redact = "yes"
	}
	cmd, err := o.Command("--agent")
	if err != nil {
		return nil // it was there when the run began
	}
	return cmd.Args
}

// A splitter routes a request to its model or agent.
type splitter struct {
	spec           *Models
	models, agents llm.Asker
}

func (s *splitter) Ask(ctx context.Context, q llm.Request) (llm.Reply, error) {
	if isAgent(s.spec.model(q.Model)) {
		return s.agents.Ask(ctx, q)
	}
	return s.models.Ask(ctx, q)
}

// checkAgents returns a usage error if the user's agents cannot be asked.
func (m *Models) checkAgents() error {
	if isBeagle() && slices.ContainsFunc(m.Ask, isAgent) {
		if _, err := toolProgram("--agent"); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for _, one := range m.Ask {
		switch {
		case !isAgent(one):
		case coder.Possible() != nil:
			return coder.Possible()
		case m.Offline:
			return usage(fmt.Sprintf("--offline: Beagle cannot know what the agent %q sends, and where", one.URL),
				"leave out --offline or --agent")
		case names[one.Name]:
			return usage(fmt.Sprintf("two agents are called %s", one.Name),
				"give one of them a wrapper script with a name of its own")
		}
		names[one.Name] = true
	}
	return nil
}

// servers returns the models that have a server; an agent has none.
func (m *Models) servers() []llm.Model {
	return slices.DeleteFunc(slices.Clone(m.Ask), isAgent)
}

// client asks the models.
func (m *Models) client(budget *llm.Budget) (*llm.Client, error) {
	keys := llm.EnvKeys()
	if m.KeyFile != "" {
		var err error
		if keys, err = llm.FileKeys(m.KeyFile, m.servers()...); err != nil {
			return nil, err
		}
	}
	return &llm.Client{Models: m.Ask, Keys: keys, Budget: budget, InFlight: llm.NewLimiter(m.InFlight),
		Offline: m.Offline}, nil
}
