import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode } from "./decode.ts";
import { decodeProtobuf, isProtobuf } from "./protobuf.ts";
import { ProtobufError } from "./protobuf-wire.ts";
import { kinds } from "../index.ts";

/** Objects that a kube-apiserver v1.36.3 returned both as protobuf and as JSON. */
const recorded = JSON.parse(readFileSync(new URL("./fixtures/protobuf.json", import.meta.url), "utf8")) as readonly {
  readonly protobuf: string;
  readonly json: { readonly kind: string; readonly metadata: { readonly name: string } };
}[];

function schemaOf(kind: string): string {
  return kinds.find((one) => one.kind === kind)?.schema ?? "";
}

function message(...fields: readonly (readonly [number: number, value: Uint8Array | string])[]): Buffer {
  return Buffer.concat(
    fields.map(([number, value]) => {
      const bytes = Buffer.from(value);
      return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
    }),
  );
}

function envelope(apiVersion: string, kind: string, raw: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from("k8s\0"), message([1, message([1, apiVersion], [2, kind])], [2, raw])]);
}

describe("decodeProtobuf", () => {
  it.each(recorded.map(({ json, protobuf }) => [json.kind, json, protobuf] as const))(
    "reads a %s as if it had been sent as JSON",
    (kind, json, protobuf) => {
      const object = decodeProtobuf(Buffer.from(protobuf, "base64"));
      expect(decode(schemaOf(kind), object)).toEqual({ object: decode(schemaOf(kind), json).object, unknownFields: [] });
    },
  );

  it("tells an object's kind and its fields, keys of maps as they are", () => {
    const body = envelope("v1", "ConfigMap", message([1, message([1, "settings"])], [2, message([1, "__proto__"], [2, "x"])]));
    const object = decodeProtobuf(body);
    expect(JSON.stringify(object)).toBe('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings"},"data":{"__proto__":"x"}}');
  });

  it("passes over fields that a newer client knows", () => {
    const body = envelope("v1", "ConfigMap", message([1, message([1, "settings"])], [15, "new"]));
    expect(decodeProtobuf(body)).toEqual({ kind: "ConfigMap", apiVersion: "v1", metadata: { name: "settings" } });
  });

  it("knows the options of a deletion in every group", () => {
    expect(decodeProtobuf(envelope("apps/v1", "DeleteOptions", message([4, "Orphan"])))).toEqual({
      kind: "DeleteOptions",
      apiVersion: "apps/v1",
      propagationPolicy: "Orphan",
    });
  });

  it("says which kind it cannot read", () => {
    expect(() => decodeProtobuf(envelope("example.com/v1", "Foo", message()))).toThrow(
      "the kind Foo of example.com/v1 is only accepted as JSON",
    );
  });

  it("says so when bytes are missing", () => {
    const body = envelope("v1", "ConfigMap", message([1, message([1, "settings"])]));
    expect(() => decodeProtobuf(body.subarray(0, -1))).toThrow("unexpected EOF");
  });

  it("ends on any bytes: with an object or with what is wrong with them", () => {
    const outcome = (body: Uint8Array): string => {
      try {
        return String(decodeProtobuf(body)["kind"]);
      } catch (error) {
        return error instanceof ProtobufError ? "refused" : `failed: ${String(error)}`;
      }
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.constantFrom("Pod", "Node", "ConfigMap"), (bytes, kind) => {
        expect([kind, "refused"]).toContain(outcome(envelope("v1", kind, bytes)));
      }),
    );
  });
});

describe("isProtobuf", () => {
  it("tells protobuf from JSON by the first bytes", () => {
    expect([
      isProtobuf(envelope("v1", "Pod", message())),
      isProtobuf(Buffer.from('{"kind":"Pod"}')),
      isProtobuf(Buffer.from("k8")),
    ]).toEqual([true, false, false]);
  });
});
