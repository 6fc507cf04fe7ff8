import { describe, expect, test } from "vitest";
import { kinds } from "../kinds/index.ts";
import type { Kind } from "../kinds/kind.ts";
import { configMapKind } from "../kinds/config/config-map.ts";
import type { OpenApiSchema } from "../kinds/schema/schema.ts";
import { encodeOpenApiV2 } from "./openapi-v2-protobuf.ts";
import { customSchema } from "./openapi-v2-schema.ts";
import { openApiV2Response } from "./openapi-v2.ts";

interface Document {
  readonly definitions: Readonly<Record<string, unknown>>;
}

function document(served: readonly Kind[]): Document {
  return JSON.parse(Buffer.from(openApiV2Response(undefined, served).body).toString()) as Document;
}

describe("OpenAPI v2", () => {
  test("has every definition that it references", () => {
    const text = Buffer.from(openApiV2Response(undefined, kinds).body).toString();
    const { definitions } = JSON.parse(text) as Document;
    const referred = new Set(Array.from(text.matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g), ([, name]) => String(name)));

    expect(referred.size).toBeGreaterThan(400);
    expect([...referred].filter((name) => !(name in definitions))).toEqual([]);
    expect(text).not.toContain("#/components/");
  });

  test("has an identifier of its own for each operation", () => {
    const text = Buffer.from(openApiV2Response(undefined, kinds).body).toString();
    const identifiers = Array.from(text.matchAll(/"operationId":"([^"]+)"/g), ([, id]) => id);

    expect(identifiers).toContain("replaceAppsV1NamespacedDeploymentScale");
    expect(new Set(identifiers).size).toBe(identifiers.length);
  });

  test("shows a kind that came, and no kind that went", () => {
    const served = [configMapKind];
    const before = openApiV2Response(undefined, served);
    served.push({ ...configMapKind, plural: "others", kind: "Other", schema: "io.k8s.api.core.v1.Other" });

    expect(document(served).definitions).toHaveProperty(["io.k8s.api.core.v1.OtherList"]);
    expect(openApiV2Response(undefined, served).headers["etag"]).not.toBe(before.headers["etag"]);
    served.pop();
    expect(openApiV2Response(undefined, served).headers["etag"]).toBe(before.headers["etag"]);
  });

  test("encodes a document as gnostic's message", () => {
    const bytes = encodeOpenApiV2({
      swagger: "2.0",
      info: { title: "T", version: "1" },
      paths: {},
      definitions: { A: { maxItems: 300, type: "array", items: { $ref: "#/definitions/A" } } },
    });

    // Written by gnostic-models v0.7.0 from the same document.
    expect(bytes.toString("hex")).toBe(
      "0a03322e3012060a015412013142004a2a0a280a0141122370ac02b201070a056172726179ba01130a110a0f232f646566696e6974696f6e732f41",
    );
  });

  test("does not encode a field that the message does not have", () => {
    expect(() => encodeOpenApiV2({ definitions: { A: { anyOf: [] } } })).toThrow("the field anyOf has no number");
  });
});

describe("the schema of a custom resource in version 2", () => {
  const native = { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { allOf: [{ $ref: "#/components/schemas/M" }] } };
  const convert = (spec: object): unknown => {
    const schema = { type: "object", properties: { ...native, spec } } as OpenApiSchema;
    return (customSchema(schema)["properties"] as Record<string, unknown>)["spec"];
  };

  test("has no type and no content where null is allowed", () => {
    expect(convert({ type: "object", nullable: true, properties: { a: { type: "string" } } })).toEqual({});
  });

  test("does not require a field that may be null", () => {
    const properties = { a: { type: "string", nullable: true }, b: { type: "string" } };

    expect(convert({ type: "object", required: ["a", "b"], properties })).toMatchObject({ required: ["b"] });
  });

  test("has no alternatives", () => {
    expect(convert({ type: "string", anyOf: [{ maxLength: 1 }], not: { maxLength: 2 } })).toEqual({ type: "string" });
  });

  test("has kind and metadata in an embedded resource", () => {
    expect(convert({ type: "object", "x-kubernetes-embedded-resource": true })).toMatchObject({
      properties: { metadata: { $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" } },
      required: ["kind", "apiVersion"],
    });
  });
});
