import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fullObject } from "../../test-support/full-object.ts";
import { kinds } from "../index.ts";
import { decode } from "./decode.ts";
import { encodeProtobuf, encodeProtobufList, encodeWatchFrame, hasProtobuf } from "./protobuf-encode.ts";
import { decodeProtobuf } from "./protobuf.ts";

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`./fixtures/${name}`, import.meta.url), "utf8"));
}

/** SHA-256 of the bytes that the serializer of k8s.io/apimachinery v0.36.3 writes for the {@link fullObject} of a kind. */
const digests = fixture("protobuf-digests.json") as Readonly<Record<string, string>>;

/** Objects with the bytes that the same serializer writes for them. */
const encoded = fixture("protobuf-encoded.json") as readonly { readonly protobuf: string; readonly json: Record<string, unknown> }[];

const served = kinds.map(({ group, version, kind, schema }) => ({
  apiVersion: group === "" ? version : `${group}/${version}`,
  kind,
  schema,
}));

describe("encodeProtobuf", () => {
  it.each(served)("has a message for $apiVersion $kind and its lists", ({ apiVersion, kind }) => {
    expect([hasProtobuf(apiVersion, kind), hasProtobuf(apiVersion, `${kind}List`)]).toEqual([true, true]);
  });

  it.each(served.filter(({ apiVersion, kind }) => `${apiVersion} ${kind}` in digests))(
    "writes every field of $apiVersion $kind as Go does, byte for byte",
    ({ apiVersion, kind, schema }) => {
      const bytes = encodeProtobuf(fullObject(apiVersion, kind, schema));
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(digests[`${apiVersion} ${kind}`]);
    },
  );

  it.each(served)("writes what is read back of $apiVersion $kind", ({ apiVersion, kind, schema }) => {
    const { object } = decode(schema, fullObject(apiVersion, kind, schema));
    // The claims of a StatefulSet lose their type: a message holds none.
    const claims = (object["spec"] as { volumeClaimTemplates?: Record<string, unknown>[] } | undefined)?.volumeClaimTemplates ?? [];
    for (const claim of claims) {
      delete claim["kind"];
      delete claim["apiVersion"];
    }

    expect(decode(schema, decodeProtobuf(encodeProtobuf(object))).object).toEqual(object);
  });

  it.each(encoded.map(({ json, protobuf }) => [String(json["kind"]), json, protobuf] as const))(
    "writes a %s with empty, zero and alternative values as Go does",
    (_kind, json, protobuf) => {
      expect(encodeProtobuf(json).toString("base64")).toBe(protobuf);
    },
  );

  it("writes a list as an object whose items have no type", () => {
    const items = ["a", "b"].map((name) => ({ kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data: { x: name } }));
    const head = { apiVersion: "v1", kind: "ConfigMapList", metadata: { resourceVersion: "7" } };

    expect(encodeProtobufList(head, items)).toEqual(encodeProtobuf({ ...head, items }));
    expect(encodeProtobufList(head, items).subarray(0, 26).toString("latin1")).toBe("k8s\0\n\x13\n\x02v1\x12\rConfigMapList\x12");
  });

  it("has no form for custom resources and tables", () => {
    expect([hasProtobuf("example.com/v1", "Foo"), hasProtobuf("meta.k8s.io/v1", "Table")]).toEqual([false, false]);
  });
});

describe("encodeWatchFrame", () => {
  it("writes the length, the type and the object of an event", () => {
    expect(encodeWatchFrame("ADDED", Buffer.from("object")).toString("latin1")).toBe("\0\0\0\x11\n\x05ADDED\x12\x08\n\x06object");
  });
});
