import { expect, test } from "vitest";
import { z } from "zod";
import { formatPath } from "./layers.ts";
import { describeProblems } from "./problems.ts";

/** The lines for an input that a provider's schema refuses. */
function problems(schema: z.ZodType, input: unknown): string[] {
  const parsed = schema.safeParse(input);
  const jsonSchema = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return parsed.success ? [] : describeProblems(parsed.error.issues, { input, jsonSchema, nameOf: (path) => formatPath(path) || "file" });
}

test.for<[string, z.ZodType, unknown, string]>([
  ["a missing value", z.strictObject({ url: z.url() }), {}, "url: not set: expected string"],
  ["a union", z.strictObject({ size: z.union([z.string(), z.number()]) }), { size: [] }, "size: a list: expected string or number"],
  ["a format", z.strictObject({ url: z.url() }), { url: "x" }, 'url: "x": Invalid URL'],
  [
    "a nested field",
    z.strictObject({ a: z.array(z.strictObject({ name: z.string() })) }),
    { a: [{ name: "x", nmae: 1 }] },
    "a[0].nmae: unknown field; did you mean name?",
  ],
  [
    "a field like none",
    z.strictObject({ region: z.string().optional(), zone: z.string().optional() }),
    { xyz: 1 },
    "xyz: unknown field; expected one of region, zone",
  ],
  [
    "a field of a map's values",
    z.record(z.string(), z.strictObject({ cpu: z.string().optional() })),
    { n1: { cpus: 1 } },
    "n1.cpus: unknown field; did you mean cpu?",
  ],
  [
    "a field of another member of a union",
    z.strictObject({
      a: z.discriminatedUnion("mode", [
        z.strictObject({ mode: z.literal("one"), name: z.string().optional() }),
        z.strictObject({ mode: z.literal("all"), prefix: z.string() }),
      ]),
    }),
    { a: { mode: "one", prefix: "x" } },
    "a.prefix: unknown field; expected one of mode, name",
  ],
  ["a list", z.strictObject({ names: z.array(z.string()) }), { names: "a" }, 'names: "a": expected a list'],
  ["a map", z.strictObject({ labels: z.record(z.string(), z.string()) }), { labels: ["a"] }, "labels: a list: expected an object"],
  ["a switch", z.strictObject({ on: z.boolean() }), { on: "no" }, 'on: "no": expected true or false'],
  ["the whole", z.strictObject({}), "text", 'file: "text": expected an object'],
  [
    "a secret",
    z.strictObject({ token: z.string().max(3) }),
    { token: "hunter22" },
    'token: "[redacted]": expected string to have <=3 characters',
  ],
])("%s that is wrong costs one line", ([, schema, input, line]) => {
  expect(problems(schema, input)).toEqual([line]);
});
