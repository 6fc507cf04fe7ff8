import { silentLogger, type Logger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { WatchedExporter } from "./watched-exporter.ts";

type Result = { readonly code: number; readonly error?: Error };

/** What is logged if a collector answers so, one batch after another. */
function logOf(results: readonly Result[]): readonly string[] {
  const lines: string[] = [];
  const note = (fields: object, text: string): void => void lines.push(`${text} ${JSON.stringify(fields)}`);
  const logger: Logger = { ...silentLogger, warn: note, info: note };
  const answers = [...results];
  const exporter = {
    export: (_: unknown, onResult: (result: Result) => void) => onResult(answers.shift() ?? { code: 0 }),
    shutdown: async () => {},
  };
  const watched = new WatchedExporter(exporter, { endpoint: "http://collector/v1/traces", logger });
  const told: Result[] = [];
  for (const _ of results) watched.export([], (result) => told.push(result));
  expect(told).toEqual(results);
  return lines;
}

const refused = { code: 1, error: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) };

test("a collector that accepts is not mentioned", () => {
  expect(logOf([{ code: 0 }, { code: 0 }])).toEqual([]);
});

test("a collector that refuses is logged once, and once when it accepts again", () => {
  expect(logOf([refused, refused, { code: 0 }, { code: 0 }])).toEqual([
    'traces cannot be sent; they are dropped until the collector accepts them {"endpoint":"http://collector/v1/traces","reason":"ECONNREFUSED"}',
    'the collector accepts traces again {"endpoint":"http://collector/v1/traces"}',
  ]);
});

test.for<[error: Error | undefined, reason: string]>([
  [Object.assign(new Error("Unauthorized"), { code: 401, data: "you sent: secret" }), "HTTP 401"],
  [new Error("Request Timeout\nstack"), "Request Timeout"],
  [undefined, "unknown"],
])("of %s the log says %s, and nothing that the collector answered", ([error, reason]) => {
  const [line = ""] = logOf([{ code: 1, ...(error && { error }) }]);

  expect(JSON.parse(line.slice(line.indexOf("{")))).toEqual({ endpoint: "http://collector/v1/traces", reason });
});
