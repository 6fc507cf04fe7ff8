import { expect, test } from "vitest";
import { renderMetrics } from "./exposition.ts";

test("labels are escaped and sorted, and values are Prometheus's", () => {
  const text = renderMetrics([
    {
      name: "b",
      help: "two\nlines \\",
      type: "untyped",
      samples: [
        { labels: { z: 'say "hi"', a: "back\\slash\n" }, value: Infinity },
        { value: Number.NaN },
        { value: -Infinity, timestampMs: 1.6 },
      ],
    },
    { name: "a", help: "first", type: "gauge", samples: [] },
  ]);

  expect(text).toBe(
    '# HELP a first\n# TYPE a gauge\n# HELP b two\\nlines \\\\\n# TYPE b untyped\nb{a="back\\\\slash\\n",z="say \\"hi\\""} +Inf\nb NaN\nb -Inf 2\n',
  );
});

test("samples of a histogram have their family's name with a suffix", () => {
  const samples = [
    { suffix: "_bucket", labels: { le: "+Inf" }, value: 2 },
    { suffix: "_sum", value: 0.5 },
    { suffix: "_count", value: 2 },
  ] as const;

  expect(renderMetrics([{ name: "h", help: "took", type: "histogram", samples }])).toBe(
    '# HELP h took\n# TYPE h histogram\nh_bucket{le="+Inf"} 2\nh_sum 0.5\nh_count 2\n',
  );
});
