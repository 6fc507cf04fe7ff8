// Reads metrics in the text format from standard input with Prometheus' own parser, as strictly as it can: every line must parse, a
// family is one block with its HELP and TYPE, and no series may appear twice. Prints the number of families.
package main

import (
	"fmt"
	"os"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func main() {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(os.Stdin)
	if err == nil {
		err = check(families)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(len(families))
}

func check(families map[string]*dto.MetricFamily) error {
	for name, family := range families {
		if family.GetHelp() == "" || family.GetType() == dto.MetricType_UNTYPED {
			return fmt.Errorf("%s has no HELP, or no TYPE", name)
		}
		seen := map[string]bool{}
		for _, metric := range family.GetMetric() {
			var labels strings.Builder
			for _, label := range metric.GetLabel() {
				fmt.Fprintf(&labels, "%s=%q,", label.GetName(), label.GetValue())
			}
			if seen[labels.String()] {
				return fmt.Errorf("%s{%s} appears twice", name, labels.String())
			}
			seen[labels.String()] = true
		}
	}
	return nil
}
