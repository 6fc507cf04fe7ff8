import { expect } from "vitest";
import { establishDefinition } from "./support/definitions.ts";
import type { Api, Answer } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

const text = { type: "string" };
const address = {
  type: "object",
  properties: { type: text, value: text },
  oneOf: [
    { properties: { type: { enum: ["IPAddress"] }, value: { anyOf: [{ format: "ipv4" }, { format: "ipv6" }] } } },
    { properties: { type: { not: { enum: ["IPAddress"] } } } },
  ],
};
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        address,
        amount: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }], pattern: "^[0-9]+m?$" },
        exactlyOne: { type: "object", properties: { a: text, b: text }, oneOf: [{ required: ["a"] }, { required: ["b"] }] },
        all: { ...text, allOf: [{ minLength: 3 }, { pattern: "^x" }, { maxLength: 5 }] },
        none: { ...text, not: { pattern: "^bad" } },
        length: { type: "string", enum: ["a", "bb"], minLength: 2, format: "ipv4" },
        number: { type: "integer", minimum: 3, maximum: 1, multipleOf: 5 },
        list: { type: "array", minItems: 3, items: { type: "integer", minimum: 2 } },
        nullable: { type: "string", nullable: true, enum: ["a"] },
        whole: { type: "integer", format: "int32", enum: [1] },
        deep: {
          type: "object",
          properties: { kind: text, size: { type: "integer" }, other: text },
          anyOf: [
            { properties: { kind: { enum: ["small"] }, size: { maximum: 3 } } },
            { properties: { kind: { enum: ["big"] }, size: { minimum: 10 } }, required: ["other"] },
          ],
        },
      },
    },
  },
};

/** Causes by their fields, because the real server validates the fields of an object in random order. */
function problems({ status, body }: Answer): unknown {
  const causes: readonly { field: string; message: string; reason: string }[] = body.details?.causes ?? [];
  const byField = causes.toSorted((a, b) => Number(a.field > b.field) - Number(a.field < b.field));
  return [status, ...byField.map(({ field, reason, message }) => `${field}: ${reason}: ${message}`)];
}

async function specs(api: Api, definition: { path: string; apiVersion: string; kind: string }, all: readonly object[]): Promise<void> {
  for (const spec of all) {
    const { apiVersion, kind, path } = definition;
    const answer = await api.post(`${path}?dryRun=All`, { apiVersion, kind, metadata: { name: "a" }, spec });
    expect(problems(answer)).toMatchSnapshot(JSON.stringify(spec));
  }
}

test("a value that no alternative of its schema permits is refused with the errors of the closest alternative", async ({
  api,
  namespace,
}) => {
  await using definition = await establishDefinition(api, { namespace, schema });

  await specs(api, definition, [
    { address: { type: "IPAddress", value: "1.1.1" } },
    { address: { type: "IPAddress", value: "1.1.1.1" } },
    { address: { type: "Hostname", value: "1.1.1" } },
    { address: { value: "1.1.1.1" } },
    { address: "x" },
    { amount: true },
    { amount: 1.5 },
    { amount: "1x" },
    { amount: {} },
    { exactlyOne: {} },
    { exactlyOne: { a: "x", b: "y" } },
    { exactlyOne: { a: 5 } },
    { all: "y" },
    { all: "xy" },
    { all: "xyz" },
    { all: "y".repeat(10) },
    { none: "bad one" },
    { none: 5 },
    { deep: { kind: "medium" } },
    { deep: { kind: "big", size: 5 } },
    { deep: { kind: "big", size: 5, other: "x" } },
    { deep: { kind: "small", size: 5 } },
    { deep: { size: "x" } },
  ]);
});

test("every check of a value is reported, also beside a wrong type", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema });

  await specs(api, definition, [
    { length: "c" },
    { length: 5 },
    { number: 2 },
    { number: 2.5 },
    { number: "x" },
    { list: [1, 1] },
    { list: [null, 1.5, "x"] },
    { list: {} },
    { nullable: null },
    { whole: null },
    { whole: "x" },
    { whole: true },
    { whole: 3_000_000_000 },
  ]);
});

test("errors of a written status name its fields without status in their words", async ({ api, namespace }) => {
  const statusSchema = {
    type: "object",
    properties: { address, kind: { ...text, maxLength: 3 }, size: { type: "integer" } },
    required: ["size"],
  };
  const withStatus = { type: "object", properties: { ...schema.properties, status: statusSchema } };
  await using definition = await establishDefinition(api, { namespace, schema: withStatus, subresources: { status: {} } });
  const { apiVersion, kind, path } = definition;
  await api.create(path, { apiVersion, kind, metadata: { name: "a" } });

  for (const status of [{ size: 1, address: { type: "IPAddress", value: "1.1.1" } }, { kind: "long", size: "x" }, { kind: "a" }, "x"]) {
    const answer = await api.patch("merge", `${path}/a/status`, { status });
    expect(problems(answer)).toMatchSnapshot(JSON.stringify(status));
  }
});
