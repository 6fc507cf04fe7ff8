import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

/** What the server says of objects that it refuses: status, message and causes of each. */
async function refusals(api: Api, path: string, objects: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [name, object] of Object.entries(objects)) answers[name] = refusal(await api.post(`${path}?dryRun=All`, object));
  return answers;
}

function refusal({ status, body }: Answer): unknown {
  if (status < 300) return "taken";
  const { message, reason, details } = body;
  return { status, reason, message: message.slice(0, 300), ...(details === undefined ? {} : { details }) };
}

const container = (fields: object): object => podNamed("a", { containers: [{ name: "a", image: "a", ...fields }] });
const volume = (fields: object): object => podNamed("a", { volumes: [{ name: "v", ...fields }] });

test("names that are none are refused", async ({ api, core }) => {
  const named = (name: string): object => configMapNamed(name);
  expect(
    await refusals(api, `${core}/configmaps`, {
      "upper case": named("Settings"),
      underscore: named("a_b"),
      "dash at the end": named("a-"),
      "too long": named("a".repeat(254)),
      slash: named("a/b"),
      dots: named("a..b"),
      "253 characters": named("a".repeat(253)),
    }),
  ).toMatchInlineSnapshot(`
    {
      253 characters: "taken",
      dash at the end: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: "Invalid value: \\"a-\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a-",
        },
        message: "ConfigMap \\"a-\\" is invalid: metadata.name: Invalid value: \\"a-\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0",
        reason: "Invalid",
        status: 422,
      },
      dots: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: "Invalid value: \\"a..b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a..b",
        },
        message: "ConfigMap \\"a..b\\" is invalid: metadata.name: Invalid value: \\"a..b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[",
        reason: "Invalid",
        status: 422,
      },
      slash: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: "Invalid value: \\"a/b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a/b",
        },
        message: "ConfigMap \\"a/b\\" is invalid: metadata.name: Invalid value: \\"a/b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-",
        reason: "Invalid",
        status: 422,
      },
      too long: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: 'Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 253 characters',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        },
        message: 'ConfigMap "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: metadata.name: Invali',
        reason: "Invalid",
        status: 422,
      },
      underscore: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: "Invalid value: \\"a_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a_b",
        },
        message: "ConfigMap \\"a_b\\" is invalid: metadata.name: Invalid value: \\"a_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-",
        reason: "Invalid",
        status: 422,
      },
      upper case: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: "Invalid value: \\"Settings\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "Settings",
        },
        message: "ConfigMap \\"Settings\\" is invalid: metadata.name: Invalid value: \\"Settings\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-",
        reason: "Invalid",
        status: 422,
      },
    }
  `);
  expect(
    await refusals(api, `${core}/services`, {
      "begins with a digit": { metadata: { name: "1a" }, spec: { ports: [{ port: 80 }] } },
      dot: { metadata: { name: "a.b" }, spec: { ports: [{ port: 80 }] } },
      "too long": { metadata: { name: "a".repeat(64) }, spec: { ports: [{ port: 80 }] } },
    }),
  ).toMatchInlineSnapshot(`
    {
      begins with a digit: "taken",
      dot: {
        details: {
          causes: [{field: "metadata.name", message: 'Invalid value: "a.b": must not contain dots', reason: "FieldValueInvalid"}],
          kind: "Service",
          name: "a.b",
        },
        message: 'Service "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots',
        reason: "Invalid",
        status: 422,
      },
      too long: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: 'Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 characters',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Service",
          name: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        },
        message: 'Service "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: metadata.name: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 characters',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
  expect(await refusals(api, "/api/v1/namespaces", { dot: { metadata: { name: "a.b" } }, "upper case": { metadata: { name: "A" } } }))
    .toMatchInlineSnapshot(`
    {
      dot: {
        details: {
          causes: [{field: "metadata.name", message: 'Invalid value: "a.b": must not contain dots', reason: "FieldValueInvalid"}],
          kind: "Namespace",
          name: "a.b",
        },
        message: 'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots',
        reason: "Invalid",
        status: 422,
      },
      upper case: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: "Invalid value: \\"A\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Namespace",
          name: "A",
        },
        message: "Namespace \\"A\\" is invalid: metadata.name: Invalid value: \\"A\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("labels and annotations that are none are refused", async ({ api, core }) => {
  const labelled = (labels: object): object => configMapNamed("a", {}, { labels });
  const annotated = (annotations: object): object => configMapNamed("a", {}, { annotations });
  expect(
    await refusals(api, `${core}/configmaps`, {
      "space in a value": labelled({ a: "b c" }),
      "value too long": labelled({ a: "b".repeat(64) }),
      "space in a key": labelled({ "a b": "c" }),
      "key too long": labelled({ ["a".repeat(64)]: "c" }),
      "empty key": labelled({ "": "c" }),
      "two slashes": labelled({ "a/b/c": "d" }),
      "bad prefix": labelled({ "A_/b": "d" }),
      "empty value": labelled({ a: "" }),
      "annotation key": annotated({ "a b": "c" }),
      "annotations too long": annotated({ a: "a".repeat(262_145) }),
    }),
  ).toMatchInlineSnapshot(`
    {
      annotation key: {
        details: {
          causes: [
            {
              field: "metadata.annotations",
              message: "Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: metadata.annotations: Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-",
        reason: "Invalid",
        status: 422,
      },
      annotations too long: {
        details: {
          causes: [{field: "metadata.annotations", message: "Too long: may not be more than 262144 bytes", reason: "FieldValueTooLong"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes',
        reason: "Invalid",
        status: 422,
      },
      bad prefix: {
        details: {
          causes: [
            {
              field: "metadata.labels",
              message: "Invalid value: \\"A_/b\\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: metadata.labels: Invalid value: \\"A_/b\\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-",
        reason: "Invalid",
        status: 422,
      },
      empty key: {
        details: {
          causes: [
            {field: "metadata.labels", message: 'Invalid value: "": name part must be non-empty', reason: "FieldValueInvalid"},
            {
              field: "metadata.labels",
              message: "Invalid value: \\"\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: [metadata.labels: Invalid value: \\"\\": name part must be non-empty, metadata.labels: Invalid value: \\"\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', rege",
        reason: "Invalid",
        status: 422,
      },
      empty value: "taken",
      key too long: {
        details: {
          causes: [
            {
              field: "metadata.labels",
              message: 'Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": name part must be no more than 63 bytes',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.labels: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": name part must be no more than 63 bytes',
        reason: "Invalid",
        status: 422,
      },
      space in a key: {
        details: {
          causes: [
            {
              field: "metadata.labels",
              message: "Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: metadata.labels: Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0",
        reason: "Invalid",
        status: 422,
      },
      space in a value: {
        details: {
          causes: [
            {
              field: "metadata.labels",
              message: "Invalid value: \\"b c\\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: metadata.labels: Invalid value: \\"b c\\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-",
        reason: "Invalid",
        status: 422,
      },
      two slashes: {
        details: {
          causes: [
            {
              field: "metadata.labels",
              message: "Invalid value: \\"a/b/c\\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: metadata.labels: Invalid value: \\"a/b/c\\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*",
        reason: "Invalid",
        status: 422,
      },
      value too long: {
        details: {
          causes: [
            {
              field: "metadata.labels",
              message: 'Invalid value: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb": must be no more than 63 bytes',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.labels: Invalid value: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb": must be no more than 63 bytes',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("finalizers and owner references that are none are refused", async ({ api, core }) => {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u" };
  const owned = (...ownerReferences: readonly object[]): object => configMapNamed("a", {}, { ownerReferences });
  expect(
    await refusals(api, `${core}/configmaps`, {
      "finalizer without a domain": configMapNamed("a", {}, { finalizers: ["wait"] }),
      "finalizer with a space": configMapNamed("a", {}, { finalizers: ["a b/c"] }),
      "owner without uid": owned({ ...owner, uid: "" }),
      "owner without name": owned({ ...owner, name: "" }),
      "owner without kind": owned({ ...owner, kind: "" }),
      "owner without version": owned({ ...owner, apiVersion: "" }),
      "two controllers": owned({ ...owner, controller: true }, { ...owner, uid: "v", controller: true }),
      "an event as owner": owned({ ...owner, kind: "Event" }),
    }),
  ).toMatchInlineSnapshot(`
    {
      an event as owner: {
        details: {
          causes: [
            {
              field: "metadata.ownerReferences",
              message: 'Invalid value: {"apiVersion":"v1","kind":"Event","name":"a","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"a","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
        reason: "Invalid",
        status: 422,
      },
      finalizer with a space: {
        details: {
          causes: [
            {
              field: "metadata.finalizers",
              message: "Invalid value: \\"a b/c\\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: metadata.finalizers: Invalid value: \\"a b/c\\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9",
        reason: "Invalid",
        status: 422,
      },
      finalizer without a domain: {
        details: {
          causes: [
            {
              field: "metadata.finalizers[0]",
              message: 'Invalid value: "wait": name is neither a standard finalizer name nor is it fully qualified',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.finalizers[0]: Invalid value: "wait": name is neither a standard finalizer name nor is it fully qualified',
        reason: "Invalid",
        status: 422,
      },
      owner without kind: {
        details: {
          causes: [{field: "metadata.ownerReferences.kind", message: 'Invalid value: "": must not be empty', reason: "FieldValueInvalid"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        reason: "Invalid",
        status: 422,
      },
      owner without name: {
        details: {
          causes: [{field: "metadata.ownerReferences.name", message: 'Invalid value: "": must not be empty', reason: "FieldValueInvalid"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.ownerReferences.name: Invalid value: "": must not be empty',
        reason: "Invalid",
        status: 422,
      },
      owner without uid: {
        details: {
          causes: [{field: "metadata.ownerReferences.uid", message: 'Invalid value: "": must not be empty', reason: "FieldValueInvalid"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.ownerReferences.uid: Invalid value: "": must not be empty',
        reason: "Invalid",
        status: 422,
      },
      owner without version: {
        details: {
          causes: [
            {
              field: "metadata.ownerReferences.apiVersion",
              message: 'Invalid value: "": version must not be empty',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        reason: "Invalid",
        status: 422,
      },
      two controllers: {
        details: {
          causes: [
            {
              field: "metadata.ownerReferences",
              message: 'Invalid value: [{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u","controller":true},{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"v","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for ConfigMap/a and ConfigMap/a',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u","controller":true},{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"v","controller":true}]: Only one reference can have Controller set to true. Found "true" in refere',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("keys of config maps and secrets are file names, and data has a limit", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/configmaps`, {
      slash: configMapNamed("a", { "a/b": "" }),
      dots: configMapNamed("a", { "..": "" }),
      "dots before": configMapNamed("a", { "..a": "" }),
      "both data and binaryData": { ...configMapNamed("a", { a: "" }), binaryData: { a: "" } },
      "too long": configMapNamed("a", { a: "a".repeat(1024 * 1024 + 1) }),
    }),
  ).toMatchInlineSnapshot(`
    {
      both data and binaryData: {
        details: {
          causes: [{field: "data[a]", message: 'Invalid value: "a": duplicate of key present in binaryData', reason: "FieldValueInvalid"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: data[a]: Invalid value: "a": duplicate of key present in binaryData',
        reason: "Invalid",
        status: 422,
      },
      dots: {
        details: {
          causes: [{field: "data[..]", message: "Invalid value: \\"..\\": must not be '..'", reason: "FieldValueInvalid"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: data[..]: Invalid value: \\"..\\": must not be '..'",
        reason: "Invalid",
        status: 422,
      },
      dots before: {
        details: {
          causes: [{field: "data[..a]", message: "Invalid value: \\"..a\\": must not start with '..'", reason: "FieldValueInvalid"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: data[..a]: Invalid value: \\"..a\\": must not start with '..'",
        reason: "Invalid",
        status: 422,
      },
      slash: {
        details: {
          causes: [
            {
              field: "data[a/b]",
              message: "Invalid value: \\"a/b\\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "ConfigMap",
          name: "a",
        },
        message: "ConfigMap \\"a\\" is invalid: data[a/b]: Invalid value: \\"a/b\\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        reason: "Invalid",
        status: 422,
      },
      too long: {
        details: {
          causes: [{field: "[]", message: "Too long: may not be more than 1048576 bytes", reason: "FieldValueTooLong"}],
          kind: "ConfigMap",
          name: "a",
        },
        message: 'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
  expect(
    await refusals(api, `${core}/secrets`, {
      "not base64": { metadata: { name: "a" }, data: { a: "%" } },
      slash: { metadata: { name: "a" }, data: { "a/b": "" } },
      "token without account": { metadata: { name: "a" }, type: "kubernetes.io/service-account-token" },
      "docker config missing": { metadata: { name: "a" }, type: "kubernetes.io/dockerconfigjson" },
      "basic auth missing": { metadata: { name: "a" }, type: "kubernetes.io/basic-auth" },
      "tls missing": { metadata: { name: "a" }, type: "kubernetes.io/tls", data: {} },
    }),
  ).toMatchInlineSnapshot(`
    {
      basic auth missing: {
        details: {
          causes: [
            {field: "data[username]", message: "Required value", reason: "FieldValueRequired"},
            {field: "data[password]", message: "Required value", reason: "FieldValueRequired"},
          ],
          kind: "Secret",
          name: "a",
        },
        message: 'Secret "a" is invalid: [data[username]: Required value, data[password]: Required value]',
        reason: "Invalid",
        status: 422,
      },
      docker config missing: {
        details: {
          causes: [{field: "data[.dockerconfigjson]", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Secret",
          name: "a",
        },
        message: 'Secret "a" is invalid: data[.dockerconfigjson]: Required value',
        reason: "Invalid",
        status: 422,
      },
      not base64: {
        message: 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
        reason: "BadRequest",
        status: 400,
      },
      slash: {
        details: {
          causes: [
            {
              field: "data[a/b]",
              message: "Invalid value: \\"a/b\\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Secret",
          name: "a",
        },
        message: "Secret \\"a\\" is invalid: data[a/b]: Invalid value: \\"a/b\\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        reason: "Invalid",
        status: 422,
      },
      tls missing: {
        details: {
          causes: [
            {field: "data[tls.crt]", message: "Required value", reason: "FieldValueRequired"},
            {field: "data[tls.key]", message: "Required value", reason: "FieldValueRequired"},
          ],
          kind: "Secret",
          name: "a",
        },
        message: 'Secret "a" is invalid: [data[tls.crt]: Required value, data[tls.key]: Required value]',
        reason: "Invalid",
        status: 422,
      },
      token without account: {
        details: {
          causes: [
            {
              field: "metadata.annotations[kubernetes.io/service-account.name]",
              message: "Required value",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Secret",
          name: "a",
        },
        message: 'Secret "a" is invalid: metadata.annotations[kubernetes.io/service-account.name]: Required value',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("pods without what a pod needs are refused", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/pods`, {
      "no spec": { metadata: { name: "a" } },
      "no containers": podNamed("a", { containers: [] }),
      "no name": container({ name: undefined }),
      "no image": container({ image: undefined }),
      "image with spaces": container({ image: " a " }),
      "bad name": container({ name: "A_b" }),
      "the same name twice": podNamed("a", {
        containers: [
          { name: "a", image: "a" },
          { name: "a", image: "b" },
        ],
      }),
      "the same name in init": podNamed("a", { initContainers: [{ name: "main", image: "a" }] }),
      "pull policy": container({ imagePullPolicy: "Sometimes" }),
      "termination message policy": container({ terminationMessagePolicy: "Loud" }),
      "several faults at once": podNamed("a", { restartPolicy: "Perhaps", containers: [{ name: "B", image: "" }] }),
    }),
  ).toMatchInlineSnapshot(`
    {
      bad name: {
        details: {
          causes: [
            {
              field: "spec.containers[0].name",
              message: "Invalid value: \\"A_b\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.containers[0].name: Invalid value: \\"A_b\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        reason: "Invalid",
        status: 422,
      },
      image with spaces: {
        details: {
          causes: [
            {
              field: "spec.containers[0].image",
              message: 'Invalid value: " a ": must not have leading or trailing whitespace',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].image: Invalid value: " a ": must not have leading or trailing whitespace',
        reason: "Invalid",
        status: 422,
      },
      no containers: {
        details: {causes: [{field: "spec.containers", message: "Required value", reason: "FieldValueRequired"}], kind: "Pod", name: "a"},
        message: 'Pod "a" is invalid: spec.containers: Required value',
        reason: "Invalid",
        status: 422,
      },
      no image: {
        details: {
          causes: [{field: "spec.containers[0].image", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].image: Required value',
        reason: "Invalid",
        status: 422,
      },
      no name: {
        details: {
          causes: [{field: "spec.containers[0].name", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].name: Required value',
        reason: "Invalid",
        status: 422,
      },
      no spec: {
        details: {causes: [{field: "spec.containers", message: "Required value", reason: "FieldValueRequired"}], kind: "Pod", name: "a"},
        message: 'Pod "a" is invalid: spec.containers: Required value',
        reason: "Invalid",
        status: 422,
      },
      pull policy: {
        details: {
          causes: [
            {
              field: "spec.containers[0].imagePullPolicy",
              message: 'Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
        reason: "Invalid",
        status: 422,
      },
      several faults at once: {
        details: {
          causes: [
            {
              field: "spec.containers[0].name",
              message: "Invalid value: \\"B\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
              reason: "FieldValueInvalid",
            },
            {field: "spec.containers[0].image", message: "Required value", reason: "FieldValueRequired"},
            {
              field: "spec.restartPolicy",
              message: 'Unsupported value: "Perhaps": supported values: "Always", "OnFailure", "Never"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: [spec.containers[0].name: Invalid value: \\"B\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'),",
        reason: "Invalid",
        status: 422,
      },
      termination message policy: {
        details: {
          causes: [
            {
              field: "spec.containers[0].terminationMessagePolicy",
              message: 'Unsupported value: "Loud": supported values: "File", "FallbackToLogsOnError"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].terminationMessagePolicy: Unsupported value: "Loud": supported values: "File", "FallbackToLogsOnError"',
        reason: "Invalid",
        status: 422,
      },
      the same name in init: {
        details: {
          causes: [{field: "spec.initContainers[0].name", message: 'Duplicate value: "main"', reason: "FieldValueDuplicate"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.initContainers[0].name: Duplicate value: "main"',
        reason: "Invalid",
        status: 422,
      },
      the same name twice: {
        details: {
          causes: [{field: "spec.containers[1].name", message: 'Duplicate value: "a"', reason: "FieldValueDuplicate"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[1].name: Duplicate value: "a"',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("pods with wrong policies, grace, names and places are refused", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/pods`, {
      "restart policy": podNamed("a", { restartPolicy: "Perhaps" }),
      "dns policy": podNamed("a", { dnsPolicy: "Perhaps" }),
      "dns policy None without servers": podNamed("a", { dnsPolicy: "None" }),
      grace: podNamed("a", { terminationGracePeriodSeconds: -1 }),
      deadline: podNamed("a", { activeDeadlineSeconds: 0 }),
      hostname: podNamed("a", { hostname: "A.b" }),
      subdomain: podNamed("a", { subdomain: "A_b" }),
      "node name": podNamed("a", { nodeName: "A_b" }),
      "service account": podNamed("a", { serviceAccountName: "A_b" }),
      "node selector": podNamed("a", { nodeSelector: { "a b": "c" } }),
      "pull secret": podNamed("a", { imagePullSecrets: [{ name: "" }] }),
      "host alias": podNamed("a", { hostAliases: [{ ip: "x", hostnames: ["a_b"] }] }),
      "scheduling gate": podNamed("a", { schedulingGates: [{ name: "a b" }] }),
      "scheduling gate and node": podNamed("a", { nodeName: "n1", schedulingGates: [{ name: "a" }] }),
      "a service account that is not there": podNamed("a", { serviceAccountName: "nobody" }),
    }),
  ).toMatchInlineSnapshot(`
    {
      a service account that is not there: {
        details: {kind: "pods", name: "a"},
        message: 'pods "a" is forbidden: error looking up service account NAMESPACE/nobody: serviceaccount "nobody" not found',
        reason: "Forbidden",
        status: 403,
      },
      deadline: {
        details: {
          causes: [
            {
              field: "spec.activeDeadlineSeconds",
              message: "Invalid value: 0: must be between 1 and 2147483647, inclusive",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
        reason: "Invalid",
        status: 422,
      },
      dns policy: {
        details: {
          causes: [
            {
              field: "spec.dnsPolicy",
              message: 'Unsupported value: "Perhaps": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.dnsPolicy: Unsupported value: "Perhaps": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
        reason: "Invalid",
        status: 422,
      },
      dns policy None without servers: {
        details: {
          causes: [
            {
              field: "spec.dnsConfig",
              message: "Required value: must provide \`dnsConfig\` when \`dnsPolicy\` is None",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.dnsConfig: Required value: must provide \`dnsConfig\` when \`dnsPolicy\` is None',
        reason: "Invalid",
        status: 422,
      },
      grace: "taken",
      host alias: {
        details: {
          causes: [
            {
              field: "spec.hostAliases[0].ip",
              message: 'Invalid value: "x": must be a valid IP address, (e.g. IP or 2001:db8::ffff)',
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.hostAliases[0].hostnames[0]",
              message: "Invalid value: \\"a_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: [spec.hostAliases[0].ip: Invalid value: \\"x\\": must be a valid IP address, (e.g. IP or 2001:db8::ffff), spec.hostAliases[0].hostnames[0]: Invalid value: \\"a_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and en",
        reason: "Invalid",
        status: 422,
      },
      hostname: {
        details: {
          causes: [
            {
              field: "spec.hostname",
              message: "Invalid value: \\"A.b\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.hostname: Invalid value: \\"A.b\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        reason: "Invalid",
        status: 422,
      },
      node name: {
        details: {
          causes: [
            {
              field: "spec.nodeName",
              message: "Invalid value: \\"A_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.nodeName: Invalid value: \\"A_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-",
        reason: "Invalid",
        status: 422,
      },
      node selector: {
        details: {
          causes: [
            {
              field: "spec.nodeSelector",
              message: "Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.nodeSelector: Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'",
        reason: "Invalid",
        status: 422,
      },
      pull secret: "taken",
      restart policy: {
        details: {
          causes: [
            {
              field: "spec.restartPolicy",
              message: 'Unsupported value: "Perhaps": supported values: "Always", "OnFailure", "Never"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.restartPolicy: Unsupported value: "Perhaps": supported values: "Always", "OnFailure", "Never"',
        reason: "Invalid",
        status: 422,
      },
      scheduling gate: {
        details: {
          causes: [
            {
              field: "spec.schedulingGates[0]",
              message: "Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.schedulingGates[0]: Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-",
        reason: "Invalid",
        status: 422,
      },
      scheduling gate and node: {
        details: {
          causes: [
            {
              field: "spec.nodeName",
              message: "Forbidden: cannot be set until all schedulingGates have been cleared",
              reason: "FieldValueForbidden",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
        reason: "Invalid",
        status: 422,
      },
      service account: {
        details: {kind: "pods", name: "a"},
        message: 'pods "a" is forbidden: error looking up service account NAMESPACE/A_b: serviceaccount "A_b" not found',
        reason: "Forbidden",
        status: 403,
      },
      subdomain: {
        details: {
          causes: [
            {
              field: "spec.subdomain",
              message: "Invalid value: \\"A_b\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.subdomain: Invalid value: \\"A_b\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("pods with wrong tolerations, affinities and spread are refused", async ({ api, core }) => {
  const tolerate = (toleration: object): object => podNamed("a", { tolerations: [toleration] });
  const spread = (constraint: object): object => podNamed("a", { topologySpreadConstraints: [constraint] });
  const node = (term: object): object =>
    podNamed("a", { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } } });
  expect(
    await refusals(api, `${core}/pods`, {
      "exists with a value": tolerate({ key: "a", operator: "Exists", value: "b" }),
      "equal without key": tolerate({ operator: "Equal", value: "b" }),
      operator: tolerate({ key: "a", operator: "Like" }),
      effect: tolerate({ key: "a", operator: "Exists", effect: "Always" }),
      "seconds without NoExecute": tolerate({ key: "a", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 5 }),
      "no terms": podNamed("a", {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      }),
      "in without values": node({ matchExpressions: [{ key: "a", operator: "In" }] }),
      "greater than words": node({ matchExpressions: [{ key: "a", operator: "Gt", values: ["b", "c"] }] }),
      "unknown operator": node({ matchExpressions: [{ key: "a", operator: "Near", values: ["b"] }] }),
      "pod affinity without topology": podNamed("a", {
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { a: "b" } } }] } },
      }),
      "spread of nothing": spread({}),
      "spread otherwise": spread({ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "Whatever" }),
    }),
  ).toMatchInlineSnapshot(`
    {
      effect: {
        details: {
          causes: [
            {
              field: "spec.tolerations[0].effect",
              message: 'Unsupported value: "Always": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.tolerations[0].effect: Unsupported value: "Always": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        reason: "Invalid",
        status: 422,
      },
      equal without key: {
        details: {
          causes: [
            {
              field: "spec.tolerations[0].operator",
              message: 'Invalid value: "Equal": operator must be Exists when \`key\` is empty, which means "match all values and all keys"',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when \`key\` is empty, which means "match all values and all keys"',
        reason: "Invalid",
        status: 422,
      },
      exists with a value: {
        details: {
          causes: [
            {
              field: "spec.tolerations[0].operator",
              message: "Invalid value: \\"b\\": value must be empty when \`operator\` is 'Exists'",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.tolerations[0].operator: Invalid value: \\"b\\": value must be empty when \`operator\` is 'Exists'",
        reason: "Invalid",
        status: 422,
      },
      greater than words: {
        details: {
          causes: [
            {
              field: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values",
              message: "Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'",
        reason: "Invalid",
        status: 422,
      },
      in without values: {
        details: {
          causes: [
            {
              field: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values",
              message: "Required value: must be specified when \`operator\` is 'In' or 'NotIn'",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'",
        reason: "Invalid",
        status: 422,
      },
      no terms: {
        details: {
          causes: [
            {
              field: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
              message: "Required value: must have at least one node selector term",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
        reason: "Invalid",
        status: 422,
      },
      operator: {
        details: {
          causes: [
            {
              field: "spec.tolerations[0].operator",
              message: 'Unsupported value: "Like": supported values: "Equal", "Exists"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
        reason: "Invalid",
        status: 422,
      },
      pod affinity without topology: {
        details: {
          causes: [
            {
              field: "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
              message: "Required value: can not be empty",
              reason: "FieldValueRequired",
            },
            {
              field: "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
              message: 'Invalid value: "": name part must be non-empty',
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
              message: "Invalid value: \\"\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: [spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty, spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty, spec.affinity.podAf',
        reason: "Invalid",
        status: 422,
      },
      seconds without NoExecute: {
        details: {
          causes: [
            {
              field: "spec.tolerations[0].effect",
              message: "Invalid value: \\"NoSchedule\\": effect must be 'NoExecute' when \`tolerationSeconds\` is set",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.tolerations[0].effect: Invalid value: \\"NoSchedule\\": effect must be 'NoExecute' when \`tolerationSeconds\` is set",
        reason: "Invalid",
        status: 422,
      },
      spread of nothing: {
        details: {
          causes: [
            {
              field: "spec.topologySpreadConstraints[0].maxSkew",
              message: "Invalid value: 0: must be greater than zero",
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.topologySpreadConstraints[0].topologyKey",
              message: "Required value: can not be empty",
              reason: "FieldValueRequired",
            },
            {
              field: "spec.topologySpreadConstraints[0].whenUnsatisfiable",
              message: 'Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: [spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero, spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty, spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule",',
        reason: "Invalid",
        status: 422,
      },
      spread otherwise: {
        details: {
          causes: [
            {
              field: "spec.topologySpreadConstraints[0].whenUnsatisfiable",
              message: 'Unsupported value: "Whatever": supported values: "DoNotSchedule", "ScheduleAnyway"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Whatever": supported values: "DoNotSchedule", "ScheduleAnyway"',
        reason: "Invalid",
        status: 422,
      },
      unknown operator: {
        details: {
          causes: [
            {
              field: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator",
              message: 'Invalid value: "Near": not a valid selector operator',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("containers with wrong ports, variables, resources and probes are refused", async ({ api, core }) => {
  const env = (variable: object): object => container({ env: [variable] });
  expect(
    await refusals(api, `${core}/pods`, {
      "port 0": container({ ports: [{ containerPort: 0 }] }),
      "port too large": container({ ports: [{ containerPort: 70_000 }] }),
      protocol: container({ ports: [{ containerPort: 80, protocol: "ICMP" }] }),
      "port name": container({ ports: [{ containerPort: 80, name: "A name that is long" }] }),
      "port names twice": container({
        ports: [
          { containerPort: 80, name: "a" },
          { containerPort: 81, name: "a" },
        ],
      }),
      "host port twice": podNamed("a", {
        containers: [
          { name: "a", image: "a", ports: [{ containerPort: 80, hostPort: 80 }] },
          { name: "b", image: "a", ports: [{ containerPort: 81, hostPort: 80 }] },
        ],
      }),
      "variable without name": env({ value: "a" }),
      "variable with a wrong name": env({ name: "a=b", value: "a" }),
      "variable with two sources": env({ name: "A", value: "a", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }),
      "variable from nothing": env({ name: "A", valueFrom: {} }),
      "variable from an unknown field": env({ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.colour" } } }),
      "variable from an unknown resource": env({ name: "A", valueFrom: { resourceFieldRef: { resource: "limits.colour" } } }),
      "variable from a key without name": env({ name: "A", valueFrom: { configMapKeyRef: { name: "a", key: "" } } }),
      "envFrom of nothing": container({ envFrom: [{}] }),
      "request above limit": container({ resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }),
      "negative request": container({ resources: { requests: { memory: "-1" } } }),
      "fraction of a device": container({ resources: { limits: { "example.com/gpu": "500m" } } }),
      "request of a device without limit": container({ resources: { requests: { "example.com/gpu": "1" } } }),
      "unknown resource": container({ resources: { requests: { colour: "1" } } }),
      "huge pages alone": container({ resources: { limits: { "hugepages-2Mi": "2Mi" } } }),
      "not a quantity": container({ resources: { requests: { cpu: "many" } } }),
      "quantity with a space": container({ resources: { requests: { cpu: "1 " } } }),
      "quantity of an unknown unit": container({ resources: { requests: { memory: "1KB" } } }),
      "empty quantity": container({ resources: { requests: { memory: "" } } }),
      "probe without handler": container({ livenessProbe: {} }),
      "probe with two handlers": container({ livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 80 } } }),
      "probe port 0": container({ livenessProbe: { tcpSocket: { port: 0 } } }),
      "probe with negative times": container({
        readinessProbe: { exec: { command: ["a"] }, periodSeconds: -1, timeoutSeconds: -1, initialDelaySeconds: -1, failureThreshold: -1 },
      }),
      "liveness success threshold": container({ livenessProbe: { exec: { command: ["a"] }, successThreshold: 2 } }),
      "exec of nothing": container({ readinessProbe: { exec: {} } }),
      "hook of nothing": container({ lifecycle: { preStop: {} } }),
    }),
  ).toMatchInlineSnapshot(`
    {
      empty quantity: {
        message: "Pod in version \\"v1\\" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        reason: "BadRequest",
        status: 400,
      },
      envFrom of nothing: {
        details: {
          causes: [
            {
              field: "spec.containers[0].envFrom",
              message: 'Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\`',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\`',
        reason: "Invalid",
        status: 422,
      },
      exec of nothing: {
        details: {
          causes: [{field: "spec.containers[0].readinessProbe.exec.command", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].readinessProbe.exec.command: Required value',
        reason: "Invalid",
        status: 422,
      },
      fraction of a device: {
        details: {
          causes: [
            {
              field: "spec.containers[0].resources.limits[example.com/gpu]",
              message: 'Invalid value: "500m": must be an integer',
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.containers[0].resources.requests[example.com/gpu]",
              message: 'Invalid value: "500m": must be an integer',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: [spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer, spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer]',
        reason: "Invalid",
        status: 422,
      },
      hook of nothing: {
        details: {
          causes: [
            {
              field: "spec.containers[0].lifecycle.preStop",
              message: "Required value: must specify a handler type",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].lifecycle.preStop: Required value: must specify a handler type',
        reason: "Invalid",
        status: 422,
      },
      host port twice: {
        details: {
          causes: [{field: "spec.containers[1].ports[0].hostPort", message: 'Duplicate value: "TCP//80"', reason: "FieldValueDuplicate"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"',
        reason: "Invalid",
        status: 422,
      },
      huge pages alone: {
        details: {
          causes: [
            {
              field: "spec.containers[0].resources",
              message: "Forbidden: HugePages require cpu or memory",
              reason: "FieldValueForbidden",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].resources: Forbidden: HugePages require cpu or memory',
        reason: "Invalid",
        status: 422,
      },
      liveness success threshold: {
        details: {
          causes: [
            {
              field: "spec.containers[0].livenessProbe.successThreshold",
              message: "Invalid value: 2: must be 1",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1',
        reason: "Invalid",
        status: 422,
      },
      negative request: {
        details: {
          causes: [
            {
              field: "spec.containers[0].resources.requests[memory]",
              message: 'Invalid value: "-1": must be greater than or equal to 0',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0',
        reason: "Invalid",
        status: 422,
      },
      not a quantity: {
        message: "Pod in version \\"v1\\" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        reason: "BadRequest",
        status: 400,
      },
      port 0: {
        details: {
          causes: [{field: "spec.containers[0].ports[0].containerPort", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].ports[0].containerPort: Required value',
        reason: "Invalid",
        status: 422,
      },
      port name: {
        details: {
          causes: [
            {
              field: "spec.containers[0].ports[0].name",
              message: 'Invalid value: "A name that is long": must be no more than 15 characters',
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.containers[0].ports[0].name",
              message: 'Invalid value: "A name that is long": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: [spec.containers[0].ports[0].name: Invalid value: "A name that is long": must be no more than 15 characters, spec.containers[0].ports[0].name: Invalid value: "A name that is long": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)]',
        reason: "Invalid",
        status: 422,
      },
      port names twice: {
        details: {
          causes: [{field: "spec.containers[0].ports[1].name", message: 'Duplicate value: "a"', reason: "FieldValueDuplicate"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].ports[1].name: Duplicate value: "a"',
        reason: "Invalid",
        status: 422,
      },
      port too large: {
        details: {
          causes: [
            {
              field: "spec.containers[0].ports[0].containerPort",
              message: "Invalid value: 70000: must be between 1 and 65535, inclusive",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
        reason: "Invalid",
        status: 422,
      },
      probe port 0: {
        details: {
          causes: [
            {
              field: "spec.containers[0].livenessProbe.tcpSocket.port",
              message: "Invalid value: 0: must be between 1 and 65535, inclusive",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive',
        reason: "Invalid",
        status: 422,
      },
      probe with negative times: {
        details: {
          causes: [
            {
              field: "spec.containers[0].readinessProbe.initialDelaySeconds",
              message: "Invalid value: -1: must be greater than or equal to 0",
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.containers[0].readinessProbe.timeoutSeconds",
              message: "Invalid value: -1: must be greater than or equal to 0",
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.containers[0].readinessProbe.periodSeconds",
              message: "Invalid value: -1: must be greater than or equal to 0",
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.containers[0].readinessProbe.failureThreshold",
              message: "Invalid value: -1: must be greater than or equal to 0",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: [spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0, spec.containers[0].readinessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0, spec.containers[0].readinessProbe.periodSeconds: Invalid value: ',
        reason: "Invalid",
        status: 422,
      },
      probe with two handlers: {
        details: {
          causes: [
            {
              field: "spec.containers[0].livenessProbe.tcpSocket",
              message: "Forbidden: may not specify more than 1 handler type",
              reason: "FieldValueForbidden",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
        reason: "Invalid",
        status: 422,
      },
      probe without handler: {
        details: {
          causes: [
            {
              field: "spec.containers[0].livenessProbe",
              message: "Required value: must specify a handler type",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].livenessProbe: Required value: must specify a handler type',
        reason: "Invalid",
        status: 422,
      },
      protocol: {
        details: {
          causes: [
            {
              field: "spec.containers[0].ports[0].protocol",
              message: 'Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        reason: "Invalid",
        status: 422,
      },
      quantity of an unknown unit: {
        message: "Pod in version \\"v1\\" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        reason: "BadRequest",
        status: 400,
      },
      quantity with a space: "taken",
      request above limit: {
        details: {
          causes: [
            {
              field: "spec.containers[0].resources.requests",
              message: 'Invalid value: "2": must be less than or equal to cpu limit of 1',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        reason: "Invalid",
        status: 422,
      },
      request of a device without limit: {
        details: {
          causes: [
            {
              field: "spec.containers[0].resources.limits",
              message: "Required value: Limit must be set for non overcommitable resources",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources',
        reason: "Invalid",
        status: 422,
      },
      unknown resource: {
        details: {
          causes: [
            {
              field: "spec.containers[0].resources.requests[colour]",
              message: 'Invalid value: "colour": must be a standard resource type or fully qualified',
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.containers[0].resources.requests[colour]",
              message: 'Invalid value: "colour": must be a standard resource for containers',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: [spec.containers[0].resources.requests[colour]: Invalid value: "colour": must be a standard resource type or fully qualified, spec.containers[0].resources.requests[colour]: Invalid value: "colour": must be a standard resource for containers]',
        reason: "Invalid",
        status: 422,
      },
      variable from a key without name: {
        details: {
          causes: [
            {
              field: "spec.containers[0].env[0].valueFrom.configMapKeyRef.key",
              message: "Required value",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Required value',
        reason: "Invalid",
        status: 422,
      },
      variable from an unknown field: {
        details: {
          causes: [
            {
              field: "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath",
              message: 'Invalid value: "spec.colour": error converting fieldPath: field label not supported: spec.colour',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.colour": error converting fieldPath: field label not supported: spec.colour',
        reason: "Invalid",
        status: 422,
      },
      variable from an unknown resource: {
        details: {
          causes: [
            {
              field: "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource",
              message: 'Unsupported value: "limits.colour": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.colour": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
        reason: "Invalid",
        status: 422,
      },
      variable from nothing: {
        details: {
          causes: [
            {
              field: "spec.containers[0].env[0].valueFrom",
              message: 'Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\` or \`fileKeyRef\`',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\` or \`fileKeyRef\`',
        reason: "Invalid",
        status: 422,
      },
      variable with a wrong name: {
        details: {
          causes: [
            {
              field: "spec.containers[0].env[0].name",
              message: "Invalid value: \\"a=b\\": a valid environment variable name must consist only of printable ASCII characters other than '='",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.containers[0].env[0].name: Invalid value: \\"a=b\\": a valid environment variable name must consist only of printable ASCII characters other than '='",
        reason: "Invalid",
        status: 422,
      },
      variable with two sources: {
        details: {
          causes: [
            {
              field: "spec.containers[0].env[0].valueFrom",
              message: 'Invalid value: "": may not be specified when \`value\` is not empty',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty',
        reason: "Invalid",
        status: 422,
      },
      variable without name: {
        details: {
          causes: [{field: "spec.containers[0].env[0].name", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].env[0].name: Required value',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("pods with wrong volumes and mounts are refused", async ({ api, core }) => {
  const mount = (volumeMount: object): object =>
    podNamed("a", { volumes: [{ name: "v" }], containers: [{ name: "a", image: "a", volumeMounts: [volumeMount] }] });
  expect(
    await refusals(api, `${core}/pods`, {
      "volume without name": podNamed("a", { volumes: [{ emptyDir: {} }] }),
      "two volumes of a name": podNamed("a", { volumes: [{ name: "v" }, { name: "v" }] }),
      "two sources": volume({ emptyDir: {}, hostPath: { path: "/" } }),
      "secret without name": volume({ secret: {} }),
      "config map without name": volume({ configMap: {} }),
      "host path without path": volume({ hostPath: { path: "" } }),
      "host path upwards": volume({ hostPath: { path: "/a/../b" } }),
      "host path type": volume({ hostPath: { path: "/a", type: "Wish" } }),
      "claim without name": volume({ persistentVolumeClaim: { claimName: "" } }),
      "mode too large": volume({ secret: { secretName: "s", defaultMode: 512 } }),
      "item without key": volume({ configMap: { name: "c", items: [{ path: "a" }] } }),
      "item path upwards": volume({ configMap: { name: "c", items: [{ key: "a", path: "../a" }] } }),
      "item path absolute": volume({ configMap: { name: "c", items: [{ key: "a", path: "/a" }] } }),
      "downward path": volume({ downwardAPI: { items: [{ path: "", fieldRef: { fieldPath: "metadata.name" } }] } }),
      "downward field": volume({ downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "spec.nodeName" } }] } }),
      "projection of nothing": volume({ projected: { sources: [{}] } }),
      "projections on one path": volume({
        projected: {
          sources: [
            { configMap: { name: "a", items: [{ key: "a", path: "p" }] } },
            { secret: { name: "a", items: [{ key: "a", path: "p" }] } },
          ],
        },
      }),
      "token too short": volume({ projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 5 } }] } }),
      "negative size": volume({ emptyDir: { sizeLimit: "-1" } }),
      "mount of no volume": mount({ name: "w", mountPath: "/a" }),
      "mount without path": mount({ name: "v" }),
      "mount sub path upwards": mount({ name: "v", mountPath: "/a", subPath: "../b" }),
      "two mounts on a path": podNamed("a", {
        volumes: [{ name: "v" }],
        containers: [
          {
            name: "a",
            image: "a",
            volumeMounts: [
              { name: "v", mountPath: "/a" },
              { name: "v", mountPath: "/a" },
            ],
          },
        ],
      }),
      "mount with two sub paths": mount({ name: "v", mountPath: "/a", subPath: "b", subPathExpr: "c" }),
      propagation: mount({ name: "v", mountPath: "/a", mountPropagation: "Wild" }),
    }),
  ).toMatchInlineSnapshot(`
    {
      claim without name: {
        details: {
          causes: [{field: "spec.volumes[0].persistentVolumeClaim.claimName", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].persistentVolumeClaim.claimName: Required value',
        reason: "Invalid",
        status: 422,
      },
      config map without name: {
        details: {
          causes: [{field: "spec.volumes[0].configMap.name", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].configMap.name: Required value',
        reason: "Invalid",
        status: 422,
      },
      downward field: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].downwardAPI.fieldRef.fieldPath",
              message: 'Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
        reason: "Invalid",
        status: 422,
      },
      downward path: {
        details: {
          causes: [{field: "spec.volumes[0].downwardAPI.path", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].downwardAPI.path: Required value',
        reason: "Invalid",
        status: 422,
      },
      host path type: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].hostPath.type",
              message: 'Unsupported value: "Wish": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].hostPath.type: Unsupported value: "Wish": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
        reason: "Invalid",
        status: 422,
      },
      host path upwards: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].hostPath.path",
              message: "Invalid value: \\"/a/../b\\": must not contain '..'",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.volumes[0].hostPath.path: Invalid value: \\"/a/../b\\": must not contain '..'",
        reason: "Invalid",
        status: 422,
      },
      host path without path: {
        details: {
          causes: [{field: "spec.volumes[0].hostPath.path", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].hostPath.path: Required value',
        reason: "Invalid",
        status: 422,
      },
      item path absolute: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].configMap.items[0].path",
              message: 'Invalid value: "/a": must be a relative path',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].configMap.items[0].path: Invalid value: "/a": must be a relative path',
        reason: "Invalid",
        status: 422,
      },
      item path upwards: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].configMap.items[0].path",
              message: "Invalid value: \\"../a\\": must not contain '..'",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.volumes[0].configMap.items[0].path: Invalid value: \\"../a\\": must not contain '..'",
        reason: "Invalid",
        status: 422,
      },
      item without key: {
        details: {
          causes: [{field: "spec.volumes[0].configMap.items[0].key", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].configMap.items[0].key: Required value',
        reason: "Invalid",
        status: 422,
      },
      mode too large: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].secret.defaultMode",
              message: "Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
        reason: "Invalid",
        status: 422,
      },
      mount of no volume: {
        details: {
          causes: [{field: "spec.containers[0].volumeMounts[0].name", message: 'Not found: "w"', reason: "FieldValueNotFound"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "w"',
        reason: "Invalid",
        status: 422,
      },
      mount sub path upwards: {
        details: {
          causes: [
            {
              field: "spec.containers[0].volumeMounts.subPath",
              message: "Invalid value: \\"../b\\": must not contain '..'",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.containers[0].volumeMounts.subPath: Invalid value: \\"../b\\": must not contain '..'",
        reason: "Invalid",
        status: 422,
      },
      mount with two sub paths: {
        details: {
          causes: [
            {
              field: "spec.containers[0].volumeMounts[0].subPathExpr",
              message: 'Invalid value: "c": subPathExpr and subPath are mutually exclusive',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].volumeMounts[0].subPathExpr: Invalid value: "c": subPathExpr and subPath are mutually exclusive',
        reason: "Invalid",
        status: 422,
      },
      mount without path: {
        details: {
          causes: [{field: "spec.containers[0].volumeMounts[0].mountPath", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].volumeMounts[0].mountPath: Required value',
        reason: "Invalid",
        status: 422,
      },
      negative size: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].emptyDir.sizeLimit",
              message: "Forbidden: SizeLimit field must be a valid resource quantity",
              reason: "FieldValueForbidden",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity',
        reason: "Invalid",
        status: 422,
      },
      projection of nothing: "taken",
      projections on one path: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].projected",
              message: 'Invalid value: "a": conflicting duplicate paths',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].projected: Invalid value: "a": conflicting duplicate paths',
        reason: "Invalid",
        status: 422,
      },
      propagation: {
        details: {
          causes: [
            {
              field: "spec.containers[0].volumeMounts.mountPropagation",
              message: 'Unsupported value: "Wild": supported values: "Bidirectional", "HostToContainer", "None"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "Wild": supported values: "Bidirectional", "HostToContainer", "None"',
        reason: "Invalid",
        status: 422,
      },
      secret without name: {
        details: {
          causes: [{field: "spec.volumes[0].secret.secretName", message: "Required value", reason: "FieldValueRequired"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].secret.secretName: Required value',
        reason: "Invalid",
        status: 422,
      },
      token too short: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds",
              message: "Invalid value: 5: may not specify a duration less than 10 minutes",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
        reason: "Invalid",
        status: 422,
      },
      two mounts on a path: {
        details: {
          causes: [
            {
              field: "spec.containers[0].volumeMounts[1].mountPath",
              message: 'Invalid value: "/a": must be unique',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique',
        reason: "Invalid",
        status: 422,
      },
      two sources: {
        details: {
          causes: [
            {
              field: "spec.volumes[0].hostPath",
              message: "Forbidden: may not specify more than 1 volume type",
              reason: "FieldValueForbidden",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type',
        reason: "Invalid",
        status: 422,
      },
      two volumes of a name: {
        details: {
          causes: [{field: "spec.volumes[1].name", message: 'Duplicate value: "v"', reason: "FieldValueDuplicate"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.volumes[1].name: Duplicate value: "v"',
        reason: "Invalid",
        status: 422,
      },
      volume without name: {
        details: {causes: [{field: "spec.volumes[0].name", message: "Required value", reason: "FieldValueRequired"}], kind: "Pod", name: "a"},
        message: 'Pod "a" is invalid: spec.volumes[0].name: Required value',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("pods with a wrong security context are refused", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/pods`, {
      user: podNamed("a", { securityContext: { runAsUser: -1 } }),
      group: podNamed("a", { securityContext: { fsGroup: -1 } }),
      sysctl: podNamed("a", { securityContext: { sysctls: [{ name: "A b", value: "1" }] } }),
      seccomp: podNamed("a", { securityContext: { seccompProfile: { type: "Localhost" } } }),
      "fs group policy": podNamed("a", { securityContext: { fsGroupChangePolicy: "Later" } }),
      "privileged without escalation": container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      "proc mount": container({ securityContext: { procMount: "Upside" } }),
      "host users": podNamed("a", { hostUsers: false, hostNetwork: true }),
    }),
  ).toMatchInlineSnapshot(`
    {
      fs group policy: {
        details: {
          causes: [
            {
              field: "spec.securityContext.fsGroupChangePolicy",
              message: 'Unsupported value: "Later": supported values: "Always", "OnRootMismatch"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.securityContext.fsGroupChangePolicy: Unsupported value: "Later": supported values: "Always", "OnRootMismatch"',
        reason: "Invalid",
        status: 422,
      },
      group: {
        details: {
          causes: [
            {
              field: "spec.securityContext.fsGroup",
              message: "Invalid value: -1: must be between 0 and 2147483647, inclusive",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        reason: "Invalid",
        status: 422,
      },
      host users: {
        details: {
          causes: [{field: "spec.hostNetwork", message: "Forbidden: when \`hostUsers\` is false", reason: "FieldValueForbidden"}],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.hostNetwork: Forbidden: when \`hostUsers\` is false',
        reason: "Invalid",
        status: 422,
      },
      privileged without escalation: {
        details: {
          causes: [
            {
              field: "spec.containers[0].securityContext",
              message: 'Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompPro',
        reason: "Invalid",
        status: 422,
      },
      proc mount: {
        details: {
          causes: [
            {
              field: "spec.containers[0].securityContext.procMount",
              message: 'Unsupported value: "Upside": supported values: "Default", "Unmasked"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.containers[0].securityContext.procMount: Unsupported value: "Upside": supported values: "Default", "Unmasked"',
        reason: "Invalid",
        status: 422,
      },
      seccomp: {
        details: {
          causes: [
            {
              field: "spec.securityContext.seccompProfile.localhostProfile",
              message: "Required value: must be set when seccomp type is Localhost",
              reason: "FieldValueRequired",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
        reason: "Invalid",
        status: 422,
      },
      sysctl: {
        details: {
          causes: [
            {
              field: "spec.securityContext.sysctls[0].name",
              message: "Invalid value: \\"A b\\": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: "Pod \\"a\\" is invalid: spec.securityContext.sysctls[0].name: Invalid value: \\"A b\\": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
        reason: "Invalid",
        status: 422,
      },
      user: {
        details: {
          causes: [
            {
              field: "spec.securityContext.runAsUser",
              message: "Invalid value: -1: must be between 0 and 2147483647, inclusive",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Pod",
          name: "a",
        },
        message: 'Pod "a" is invalid: spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("Deployments and ReplicaSets that make no sense are refused", async ({ api, apps }) => {
  const labels = { a: "b" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } };
  const deployment = (spec: object): object => ({
    metadata: { name: "a" },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  });
  expect(
    await refusals(api, `${apps}/deployments`, {
      "no spec": { metadata: { name: "a" } },
      "no selector": deployment({ selector: undefined }),
      "empty selector": deployment({ selector: {} }),
      "selector of others": deployment({ selector: { matchLabels: { a: "c" } } }),
      "selector with a wrong operator": deployment({ selector: { matchExpressions: [{ key: "a", operator: "Like" }] } }),
      "no template": deployment({ template: undefined }),
      "negative replicas": deployment({ replicas: -1 }),
      "restart policy": deployment({ template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } }),
      strategy: deployment({ strategy: { type: "Wild" } }),
      "recreate with rolling update": deployment({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }),
      "neither surge nor unavailable": deployment({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
      "unavailable above all": deployment({ strategy: { rollingUpdate: { maxUnavailable: "110%" } } }),
      "percent of words": deployment({ strategy: { rollingUpdate: { maxUnavailable: "half" } } }),
      "negative history": deployment({ revisionHistoryLimit: -1 }),
      "deadline before ready": deployment({ minReadySeconds: 10, progressDeadlineSeconds: 10 }),
    }),
  ).toMatchInlineSnapshot(`
    {
      deadline before ready: {
        details: {
          causes: [
            {
              field: "spec.progressDeadlineSeconds",
              message: "Invalid value: 10: must be greater than minReadySeconds",
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds',
        reason: "Invalid",
        status: 422,
      },
      empty selector: {
        details: {
          causes: [
            {
              field: "spec.selector",
              message: "Invalid value: {}: empty selector is invalid for deployment",
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.selector: Invalid value: {}: empty selector is invalid for deployment',
        reason: "Invalid",
        status: 422,
      },
      negative history: {
        details: {
          causes: [
            {
              field: "spec.revisionHistoryLimit",
              message: "Invalid value: -1: must be greater than or equal to 0",
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
        reason: "Invalid",
        status: 422,
      },
      negative replicas: {
        details: {
          causes: [{field: "spec.replicas", message: "Invalid value: -1: must be greater than or equal to 0", reason: "FieldValueInvalid"}],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
        reason: "Invalid",
        status: 422,
      },
      neither surge nor unavailable: {
        details: {
          causes: [
            {
              field: "spec.strategy.rollingUpdate.maxUnavailable",
              message: "Invalid value: 0: may not be 0 when \`maxSurge\` is 0",
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when \`maxSurge\` is 0',
        reason: "Invalid",
        status: 422,
      },
      no selector: {
        details: {
          causes: [
            {field: "spec.selector", message: "Required value", reason: "FieldValueRequired"},
            {
              field: "spec.template.metadata.labels",
              message: 'Invalid value: {"a":"b"}: \`selector\` does not match template \`labels\`',
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: [spec.selector: Required value, spec.template.metadata.labels: Invalid value: {"a":"b"}: \`selector\` does not match template \`labels\`]',
        reason: "Invalid",
        status: 422,
      },
      no spec: {
        details: {
          causes: [
            {field: "spec.selector", message: "Required value", reason: "FieldValueRequired"},
            {
              field: "spec.template.metadata.labels",
              message: "Invalid value: null: \`selector\` does not match template \`labels\`",
              reason: "FieldValueInvalid",
            },
            {field: "spec.template.spec.containers", message: "Required value", reason: "FieldValueRequired"},
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: [spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: \`selector\` does not match template \`labels\`, spec.template.spec.containers: Required value]',
        reason: "Invalid",
        status: 422,
      },
      no template: {
        details: {
          causes: [
            {
              field: "spec.template.metadata.labels",
              message: "Invalid value: null: \`selector\` does not match template \`labels\`",
              reason: "FieldValueInvalid",
            },
            {field: "spec.template.spec.containers", message: "Required value", reason: "FieldValueRequired"},
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: [spec.template.metadata.labels: Invalid value: null: \`selector\` does not match template \`labels\`, spec.template.spec.containers: Required value]',
        reason: "Invalid",
        status: 422,
      },
      percent of words: {
        details: {
          causes: [
            {
              field: "spec.strategy.rollingUpdate.maxUnavailable",
              message: "Invalid value: \\"half\\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: "Deployment.apps \\"a\\" is invalid: spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \\"half\\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        reason: "Invalid",
        status: 422,
      },
      recreate with rolling update: {
        details: {
          causes: [
            {
              field: "spec.strategy.rollingUpdate",
              message: "Forbidden: may not be specified when strategy \`type\` is 'Recreate'",
              reason: "FieldValueForbidden",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: "Deployment.apps \\"a\\" is invalid: spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy \`type\` is 'Recreate'",
        reason: "Invalid",
        status: 422,
      },
      restart policy: {
        details: {
          causes: [
            {
              field: "spec.template.spec.restartPolicy",
              message: 'Unsupported value: "Never": supported values: "Always"',
              reason: "FieldValueNotSupported",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        reason: "Invalid",
        status: 422,
      },
      selector of others: {
        details: {
          causes: [
            {
              field: "spec.template.metadata.labels",
              message: 'Invalid value: {"a":"b"}: \`selector\` does not match template \`labels\`',
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.template.metadata.labels: Invalid value: {"a":"b"}: \`selector\` does not match template \`labels\`',
        reason: "Invalid",
        status: 422,
      },
      selector with a wrong operator: {
        details: {
          causes: [
            {
              field: "spec.selector.matchExpressions[0].operator",
              message: 'Invalid value: "Like": not a valid selector operator',
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.selector",
              message: 'Invalid value: {"matchExpressions":[{"key":"a","operator":"Like"}]}: invalid label selector',
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: [spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator, spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Like"}]}: invalid label selector]',
        reason: "Invalid",
        status: 422,
      },
      strategy: {
        details: {
          causes: [
            {
              field: "spec.strategy",
              message: 'Unsupported value: {"Type":"Wild","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
              reason: "FieldValueNotSupported",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.strategy: Unsupported value: {"Type":"Wild","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
        reason: "Invalid",
        status: 422,
      },
      unavailable above all: {
        details: {
          causes: [
            {
              field: "spec.strategy.rollingUpdate.maxUnavailable",
              message: 'Invalid value: "110%": must not be greater than 100%',
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "Deployment",
          name: "a",
        },
        message: 'Deployment.apps "a" is invalid: spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "110%": must not be greater than 100%',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
  expect(
    await refusals(api, `${apps}/replicasets`, {
      "selector of others": deployment({ selector: { matchLabels: { a: "c" } } }),
      "negative replicas": deployment({ replicas: -1 }),
    }),
  ).toMatchInlineSnapshot(`
    {
      negative replicas: {
        details: {
          causes: [{field: "spec.replicas", message: "Invalid value: -1: must be greater than or equal to 0", reason: "FieldValueInvalid"}],
          group: "apps",
          kind: "ReplicaSet",
          name: "a",
        },
        message: 'ReplicaSet.apps "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
        reason: "Invalid",
        status: 422,
      },
      selector of others: {
        details: {
          causes: [
            {
              field: "spec.template.metadata.labels",
              message: 'Invalid value: {"a":"b"}: \`selector\` does not match template \`labels\`',
              reason: "FieldValueInvalid",
            },
          ],
          group: "apps",
          kind: "ReplicaSet",
          name: "a",
        },
        message: 'ReplicaSet.apps "a" is invalid: spec.template.metadata.labels: Invalid value: {"a":"b"}: \`selector\` does not match template \`labels\`',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("a Deployment's selector cannot change", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b", c: "d" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  });

  expect(await api.patch("merge", `${apps}/deployments/web`, { spec: { selector: { matchLabels: { c: "d" } } } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.selector",
            message: 'Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable',
            reason: "FieldValueInvalid",
          },
        ],
        group: "apps",
        kind: "Deployment",
        name: "web",
      },
      message: 'Deployment.apps "web" is invalid: spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable',
      reason: "Invalid",
    }
  `);
});

test("services that make no sense are refused", async ({ api, core }) => {
  const service = (spec: object): object => ({ metadata: { name: "a" }, spec: { ports: [{ port: 80 }], ...spec } });
  expect(
    await refusals(api, `${core}/services`, {
      "no ports": service({ ports: [] }),
      "port 0": service({ ports: [{ port: 0 }] }),
      "two ports without names": service({ ports: [{ port: 80 }, { port: 81 }] }),
      "the same port twice": service({
        ports: [
          { name: "a", port: 80 },
          { name: "b", port: 80 },
        ],
      }),
      "port name": service({
        ports: [
          { name: "A_", port: 80 },
          { name: "b", port: 81 },
        ],
      }),
      protocol: service({ ports: [{ port: 80, protocol: "ICMP" }] }),
      type: service({ type: "Magic" }),
      "cluster IP": service({ clusterIP: "x" }),
      affinity: service({ sessionAffinity: "Always" }),
      "external name missing": service({ type: "ExternalName", ports: undefined }),
      selector: service({ selector: { "a b": "c" } }),
      "node port of a cluster IP": service({ ports: [{ port: 80, nodePort: 30_080 }] }),
      "external IP": service({ externalIPs: ["x"] }),
      "traffic policy": service({ externalTrafficPolicy: "Local" }),
    }),
  ).toMatchInlineSnapshot(`
    {
      affinity: {
        details: {
          causes: [
            {
              field: "spec.sessionAffinity",
              message: 'Unsupported value: "Always": supported values: "ClientIP", "None"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: spec.sessionAffinity: Unsupported value: "Always": supported values: "ClientIP", "None"',
        reason: "Invalid",
        status: 422,
      },
      cluster IP: {
        details: {
          causes: [
            {
              field: "spec.clusterIPs[0]",
              message: 'Invalid value: "x": must be a valid IP address, (e.g. IP or 2001:db8::ffff)',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. IP or 2001:db8::ffff)',
        reason: "Invalid",
        status: 422,
      },
      external IP: {
        details: {
          causes: [
            {
              field: "spec.externalIPs[0]",
              message: 'Invalid value: "x": must be a valid IP address, (e.g. IP or 2001:db8::ffff)',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. IP or 2001:db8::ffff)',
        reason: "Invalid",
        status: 422,
      },
      external name missing: {
        details: {causes: [{field: "spec.externalName", message: "Required value", reason: "FieldValueRequired"}], kind: "Service", name: "a"},
        message: 'Service "a" is invalid: spec.externalName: Required value',
        reason: "Invalid",
        status: 422,
      },
      no ports: {
        details: {causes: [{field: "spec.ports", message: "Required value", reason: "FieldValueRequired"}], kind: "Service", name: "a"},
        message: 'Service "a" is invalid: spec.ports: Required value',
        reason: "Invalid",
        status: 422,
      },
      node port of a cluster IP: {
        details: {
          causes: [
            {
              field: "spec.ports[0].nodePort",
              message: "Forbidden: may not be used when \`type\` is 'ClusterIP'",
              reason: "FieldValueForbidden",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: "Service \\"a\\" is invalid: spec.ports[0].nodePort: Forbidden: may not be used when \`type\` is 'ClusterIP'",
        reason: "Invalid",
        status: 422,
      },
      port 0: {
        details: {
          causes: [
            {
              field: "spec.ports[0].port",
              message: "Invalid value: 0: must be between 1 and 65535, inclusive",
              reason: "FieldValueInvalid",
            },
            {
              field: "spec.ports[0].targetPort",
              message: "Invalid value: 0: must be between 1 and 65535, inclusive",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: [spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive]',
        reason: "Invalid",
        status: 422,
      },
      port name: {
        details: {
          causes: [
            {
              field: "spec.ports[0].name",
              message: "Invalid value: \\"A_\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: "Service \\"a\\" is invalid: spec.ports[0].name: Invalid value: \\"A_\\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        reason: "Invalid",
        status: 422,
      },
      protocol: {
        details: {
          causes: [
            {
              field: "spec.ports[0].protocol",
              message: 'Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        reason: "Invalid",
        status: 422,
      },
      selector: {
        details: {
          causes: [
            {
              field: "spec.selector",
              message: "Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: "Service \\"a\\" is invalid: spec.selector: Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'",
        reason: "Invalid",
        status: 422,
      },
      the same port twice: {
        details: {
          causes: [
            {
              field: "spec.ports[1]",
              message: 'Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
              reason: "FieldValueDuplicate",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
        reason: "Invalid",
        status: 422,
      },
      traffic policy: {
        details: {
          causes: [
            {
              field: "spec.externalTrafficPolicy",
              message: 'Invalid value: "Local": may only be set for externally-accessible services',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
        reason: "Invalid",
        status: 422,
      },
      two ports without names: {
        details: {
          causes: [
            {field: "spec.ports[0].name", message: "Required value", reason: "FieldValueRequired"},
            {field: "spec.ports[1].name", message: "Required value", reason: "FieldValueRequired"},
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: [spec.ports[0].name: Required value, spec.ports[1].name: Required value]',
        reason: "Invalid",
        status: 422,
      },
      type: {
        details: {
          causes: [
            {
              field: "spec.type",
              message: 'Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Service",
          name: "a",
        },
        message: 'Service "a" is invalid: spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});

test("a cluster IP and a node port have to be of the server's ranges", async ({ api, core }) => {
  const service = (spec: object): object => ({ metadata: { name: "a" }, spec: { ports: [{ port: 80 }], ...spec } });

  expect(await api.post(`${core}/services`, service({ clusterIP: "192.168.0.1" }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.clusterIPs",
            message: 'Invalid value: ["192.168.0.1"]: failed to allocate IP 192.168.0.1: the provided network does not match the current range',
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Service",
        name: "a",
      },
      message: 'Service "a" is invalid: spec.clusterIPs: Invalid value: ["192.168.0.1"]: failed to allocate IP 192.168.0.1: the provided network does not match the current range',
      reason: "Invalid",
    }
  `);
  expect(await api.post(`${core}/services`, service({ type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.ports[0].nodePort",
            message: "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Service",
        name: "a",
      },
      message: 'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
      reason: "Invalid",
    }
  `);
});

test("nodes, leases, events and namespaces that make no sense are refused", async ({ api, core, namespace }) => {
  const node = (fields: object): object => ({ metadata: { name: "a" }, ...fields });
  expect(
    await refusals(api, "/api/v1/nodes", {
      name: { metadata: { name: "A_b" } },
      taint: node({ spec: { taints: [{ key: "a b", effect: "NoSchedule" }] } }),
      "taint effect": node({ spec: { taints: [{ key: "a", effect: "Maybe" }] } }),
      "the same taint twice": node({
        spec: {
          taints: [
            { key: "a", effect: "NoSchedule" },
            { key: "a", effect: "NoSchedule" },
          ],
        },
      }),
      "pod CIDR": node({ spec: { podCIDR: "x", podCIDRs: ["x"] } }),
      quantity: node({ status: { capacity: { cpu: "many" } } }),
      "negative capacity": node({ status: { capacity: { cpu: "-1" } } }),
    }),
  ).toMatchInlineSnapshot(`
    {
      name: {
        details: {
          causes: [
            {
              field: "metadata.name",
              message: "Invalid value: \\"A_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Node",
          name: "A_b",
        },
        message: "Node \\"A_b\\" is invalid: metadata.name: Invalid value: \\"A_b\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]",
        reason: "Invalid",
        status: 422,
      },
      negative capacity: {
        details: {
          causes: [
            {
              field: "status.capacity.cpu",
              message: 'Invalid value: "-1": must be greater than or equal to 0',
              reason: "FieldValueInvalid",
            },
            {
              field: "status.allocatable.cpu",
              message: 'Invalid value: "-1": must be greater than or equal to 0',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Node",
          name: "a",
        },
        message: 'Node "a" is invalid: [status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0, status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0]',
        reason: "Invalid",
        status: 422,
      },
      pod CIDR: {
        details: {
          causes: [
            {
              field: "spec.podCIDRs[0]",
              message: 'Invalid value: "x": must be a valid CIDR value, (e.g. RANGE or 2001:db8::/64)',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Node",
          name: "a",
        },
        message: 'Node "a" is invalid: spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. RANGE or 2001:db8::/64)',
        reason: "Invalid",
        status: 422,
      },
      quantity: {
        message: "Node in version \\"v1\\" cannot be handled as a Node: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        reason: "BadRequest",
        status: 400,
      },
      taint: {
        details: {
          causes: [
            {
              field: "metadata.taints[0].key",
              message: "Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Node",
          name: "a",
        },
        message: "Node \\"a\\" is invalid: metadata.taints[0].key: Invalid value: \\"a b\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-",
        reason: "Invalid",
        status: 422,
      },
      taint effect: {
        details: {
          causes: [
            {
              field: "metadata.taints[0].effect",
              message: 'Unsupported value: "Maybe": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
              reason: "FieldValueNotSupported",
            },
          ],
          kind: "Node",
          name: "a",
        },
        message: 'Node "a" is invalid: metadata.taints[0].effect: Unsupported value: "Maybe": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        reason: "Invalid",
        status: 422,
      },
      the same taint twice: {
        details: {
          causes: [
            {
              field: "metadata.taints[1]",
              message: 'Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
              reason: "FieldValueDuplicate",
            },
          ],
          kind: "Node",
          name: "a",
        },
        message: 'Node "a" is invalid: metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
  expect(
    await refusals(api, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      duration: { metadata: { name: "a" }, spec: { leaseDurationSeconds: 0 } },
      transitions: { metadata: { name: "a" }, spec: { leaseTransitions: -1 } },
    }),
  ).toMatchInlineSnapshot(`
    {
      duration: {
        details: {
          causes: [{field: "spec.leaseDurationSeconds", message: "Invalid value: 0: must be greater than 0", reason: "FieldValueInvalid"}],
          group: "coordination.k8s.io",
          kind: "Lease",
          name: "a",
        },
        message: 'Lease.coordination.k8s.io "a" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
        reason: "Invalid",
        status: 422,
      },
      transitions: {
        details: {
          causes: [
            {
              field: "spec.leaseTransitions",
              message: "Invalid value: -1: must be greater than or equal to 0",
              reason: "FieldValueInvalid",
            },
          ],
          group: "coordination.k8s.io",
          kind: "Lease",
          name: "a",
        },
        message: 'Lease.coordination.k8s.io "a" is invalid: spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
  expect(
    await refusals(api, `${core}/events`, {
      "of another namespace": { metadata: { name: "a" }, involvedObject: { namespace: "default" } },
      "without an object": { metadata: { name: "a" } },
    }),
  ).toMatchInlineSnapshot(`
    {
      of another namespace: {
        details: {
          causes: [
            {
              field: "involvedObject.namespace",
              message: 'Invalid value: "default": does not match event.namespace',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Event",
          name: "a",
        },
        message: 'Event "a" is invalid: involvedObject.namespace: Invalid value: "default": does not match event.namespace',
        reason: "Invalid",
        status: 422,
      },
      without an object: {
        details: {
          causes: [
            {
              field: "involvedObject.namespace",
              message: 'Invalid value: "": does not match event.namespace',
              reason: "FieldValueInvalid",
            },
          ],
          kind: "Event",
          name: "a",
        },
        message: 'Event "a" is invalid: involvedObject.namespace: Invalid value: "": does not match event.namespace',
        reason: "Invalid",
        status: 422,
      },
    }
  `);
});
