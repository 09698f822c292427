package toto

import (
	"encoding/json"
	"fmt"
)

// A config is the part of config.json that decides what the model computes. The names are the
// file's.
type config struct {
	Patch        int     `json:"patch_size"` // values of a token
	Width        int     `json:"d_model"`    // numbers of a token within the model
	Heads        int     `json:"num_heads"`
	Groups       int     `json:"num_groups"` // of heads that share keys and values
	KeyWidth     int     `json:"qk_dim"`
	ValueWidth   int     `json:"v_dim"`
	Hidden       int     `json:"d_ff"`
	Layers       int     `json:"num_layers"`
	Period       int     `json:"layer_group_size"`             // layers after which the kinds repeat
	Across       int     `json:"num_variate_layers_per_group"` // of them look across series
	AcrossFirst  bool    `json:"variate_layer_first"`
	Epsilon      float64 `json:"norm_eps"`
	AttnBias     bool    `json:"attn_bias"`
	HiddenBias   bool    `json:"mlp_bias"`
	Outputs      int     `json:"num_output_patches"`
	NormKeys     bool    `json:"qk_norm"`
	NormWeight   bool    `json:"norm_include_weight"`
	KeysWeight   *bool   `json:"qk_norm_include_weight"`
	ScaleQueries bool    `json:"per_dim_scale"`
	Stretch      bool    `json:"use_xpos"` // positions far apart weigh less
}

// parseConfig reads config.json. Fields that the file leaves out have the reference's defaults.
func parseConfig(text []byte) (config, error) {
	c := config{Epsilon: 5e-5, Outputs: 1, NormKeys: true}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, err
	}
	if c.Heads > 0 {
		c.Groups = orDefault(c.Groups, c.Heads)
		c.KeyWidth = orDefault(c.KeyWidth, c.Width/c.Heads)
	}
	c.ValueWidth = orDefault(c.ValueWidth, c.KeyWidth)
	c.Hidden = orDefault(c.Hidden, (4*c.Width*2/3+7)/8*8)
	if c.KeysWeight == nil {
		c.KeysWeight = &c.NormWeight
	}
	return c, c.check()
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// maxSide is larger than any side of a published model. It keeps products of two sides small.
const maxSide = 1 << 16

// check refuses settings that the forward pass cannot compute.
func (c config) check() error {
	for _, s := range []struct {
		name string
		n    int
	}{
		{"patch_size", c.Patch}, {"d_model", c.Width}, {"num_heads", c.Heads}, {"num_groups", c.Groups},
		{"qk_dim", c.KeyWidth}, {"v_dim", c.ValueWidth}, {"d_ff", c.Hidden}, {"num_layers", c.Layers},
		{"layer_group_size", c.Period},
	} {
		if s.n < 1 || s.n > maxSide {
			return fmt.Errorf("%s is %d: config.json of Toto 2.0 has a number from 1 to %d", s.name, s.n, maxSide)
		}
	}
	switch {
	case c.Outputs != 1:
		return fmt.Errorf("num_output_patches is %d: only 1 can be computed", c.Outputs)
	case c.Layers%c.Period != 0:
		return fmt.Errorf("num_layers is %d, no multiple of layer_group_size, %d", c.Layers, c.Period)
	case c.Heads%c.Groups != 0:
		return fmt.Errorf("num_heads is %d, no multiple of num_groups, %d", c.Heads, c.Groups)
	case c.KeyWidth%4 != 0:
		return fmt.Errorf("qk_dim is %d, no multiple of 4: pairs of its first half are rotated", c.KeyWidth)
	case c.Across < 0 || c.Across > c.Period:
		return fmt.Errorf("num_variate_layers_per_group is %d of %d layers", c.Across, c.Period)
	case c.Epsilon < 0 || c.Epsilon > 1:
		return fmt.Errorf("norm_eps is %g, not between 0 and 1", c.Epsilon)
	}
	return nil
}

// looksAcross reports whether a layer looks across series, not back in time.
func (c config) looksAcross(layer int) bool {
	if c.AcrossFirst {
		return layer%c.Period < c.Across
	}
	return layer%c.Period >= c.Period-c.Across
}
