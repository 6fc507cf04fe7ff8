import { expect, test } from "vitest";
import type { VolumeFile } from "../provider/volume-payload.ts";
import { isSamePayload } from "./same-payload.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const file: VolumeFile = { path: "a", mode: 0o644, content: bytes("x"), uid: 7 };
const second: VolumeFile = { path: "b", mode: 0o600, content: bytes("y") };

test("payloads are the same file by file, whatever memory they are in", () => {
  expect(isSamePayload({ files: [file, second] }, { files: [{ ...file, content: bytes("x") }, { ...second }] })).toBe(true);
  expect(isSamePayload({ files: [] }, { files: [] })).toBe(true);
});

test.each<[string, readonly VolumeFile[]]>([
  ["another path", [{ ...file, path: "c" }, second]],
  ["another mode", [{ ...file, mode: 0o600 }, second]],
  ["another content", [{ ...file, content: bytes("z") }, second]],
  ["another owner", [{ ...file, uid: 8 }, second]],
  ["no owner", [{ ...file, uid: undefined }, second]],
  ["a file more", [file, second, { ...file, path: "c" }]],
  ["a file less", [file]],
  ["another order", [second, file]],
])("%s is another payload", (_what, files) => {
  expect([isSamePayload({ files: [file, second] }, { files }), isSamePayload({ files }, { files: [file, second] })]).toEqual([
    false,
    false,
  ]);
});
