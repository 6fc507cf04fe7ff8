// Reads PromQL expressions from standard input, a JSON list of strings, and prints what Prometheus' own parser finds in each: for every
// selector its metric and the labels it matches, and the labels of by, on, group_left and their like. Ends with 1 at the first one that
// does not parse.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

type selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

type query struct {
	Selectors []selector `json:"selectors"`
	Grouping  []string   `json:"grouping"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	found := make([]query, 0, len(texts))
	for _, text := range texts {
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		found = append(found, examine(expression))
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func examine(expression parser.Expr) query {
	found := query{Selectors: []selector{}, Grouping: []string{}}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			one := selector{Metric: n.Name, Labels: []string{}}
			for _, matcher := range n.LabelMatchers {
				if matcher.Name != model.MetricNameLabel {
					one.Labels = append(one.Labels, matcher.Name)
				}
			}
			found.Selectors = append(found.Selectors, one)
		case *parser.AggregateExpr:
			found.Grouping = append(found.Grouping, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				found.Grouping = append(found.Grouping, n.VectorMatching.MatchingLabels...)
				found.Grouping = append(found.Grouping, n.VectorMatching.Include...)
			}
		}
		return nil
	})
	return found
}
