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
  ["the whole", z.strictObject({}), "text", 'file: "text": expected object'],
  [
    "a secret",
    z.strictObject({ token: z.string().max(3) }),
    { token: "hunter22" },
    'token: "[redacted]": expected string to have <=3 characters',
  ],
])("%s that is wrong costs one line", ([, schema, input, line]) => {
  expect(problems(schema, input)).toEqual([line]);
});
