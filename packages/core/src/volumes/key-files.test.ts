import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { configMapFiles, secretFiles } from "./key-files.ts";
import type { VolumeFile } from "../provider/volume-payload.ts";

const all = { defaultMode: 0o644, optional: false };
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Each file as `path mode content`. */
function shown(files: readonly VolumeFile[]): string[] {
  return files.map(({ path, mode, content }) => `${path} ${mode.toString(8)} ${Buffer.from(content).toString("latin1")}`);
}

describe("a secret", () => {
  const secret = { data: { user: base64("root"), key: base64("\xff\x00") } };

  test("is a file for each key, byte for byte", () => {
    const files = secretFiles(secret, all);

    expect(shown(files)).toEqual(["user 644 root", "key 644 \xc3\xbf\x00"]);
  });

  test("shares no memory with other secrets", () => {
    const [file] = secretFiles(secret, all);

    expect(file?.content.buffer.byteLength).toBe(4);
  });

  test("with items is those only, each under its path and with its mode", () => {
    const items = [
      { key: "user", path: "who/name", mode: 0o400 },
      { key: "user", path: "again" },
    ];

    expect(shown(secretFiles(secret, { ...all, items }))).toEqual(["who/name 400 root", "again 644 root"]);
  });

  test("without a key it should have is an error in a kubelet's words, unless it is optional", () => {
    const items = [
      { key: "nope", path: "a" },
      { key: "user", path: "b" },
    ];

    expect(() => secretFiles(secret, { ...all, items })).toThrow("references non-existent secret key: nope");
    expect(() => secretFiles(secret, { ...all, items })).toThrow(expect.toSatisfy(isInvalidInput));
    expect(shown(secretFiles(secret, { ...all, items, optional: true }))).toEqual(["b 644 root"]);
  });

  test("that does not exist has no files", () => {
    expect(secretFiles(undefined, { ...all, optional: true })).toEqual([]);
  });
});

describe("a config map", () => {
  const configMap = { data: { text: "grün", constructor: "mine" }, binaryData: { bytes: base64("\x01\x02") } };

  test("is a file for each key of data and binaryData", () => {
    expect(shown(configMapFiles(configMap, all)).sort()).toEqual(["bytes 644 \x01\x02", "constructor 644 mine", "text 644 gr\xc3\xbcn"]);
  });

  test("gives items from both", () => {
    const items = [
      { key: "text", path: "t" },
      { key: "bytes", path: "b", mode: 0o755 },
    ];

    expect(shown(configMapFiles(configMap, { ...all, items }))).toEqual(["t 644 gr\xc3\xbcn", "b 755 \x01\x02"]);
  });

  test("without a key it should have is an error in a kubelet's words, unless it is optional", () => {
    const items = [{ key: "toString", path: "a" }];

    expect(() => configMapFiles(configMap, { ...all, items })).toThrow("configmap references non-existent config key: toString");
    expect(configMapFiles(configMap, { ...all, items, optional: true })).toEqual([]);
  });
});
