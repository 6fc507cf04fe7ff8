import { messageOf } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { parseDockerConfig, parseLegacyDockerConfig } from "./docker-config.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("parseDockerConfig", () => {
  test("reads every way a credential is written, and leaves out what is none", () => {
    const text = JSON.stringify({
      auths: {
        "a.example.com": { auth: base64("ann:pass:word") },
        "b.example.com": { username: "bob", password: "secret" },
        "c.example.com": { identitytoken: "id" },
        "d.example.com": { registrytoken: "bearer" },
        "e.example.com": { auth: base64("dan:x").replace(/=+$/, ""), username: "other" },
        "f.example.com": {},
        "g.example.com": { auth: base64("nocolon") },
        "h.example.com": null,
      },
    });
    expect(parseDockerConfig(text)).toEqual({
      entries: [
        { key: "a.example.com", credentials: { username: "ann", password: "pass:word" } },
        { key: "b.example.com", credentials: { username: "bob", password: "secret" } },
        { key: "c.example.com", credentials: { identityToken: "id" } },
        { key: "d.example.com", credentials: { registryToken: "bearer" } },
        { key: "e.example.com", credentials: { username: "dan", password: "x" } },
      ],
      helpers: new Map(),
      store: undefined,
    });
  });

  test("reads which program holds the credentials of which registry", () => {
    const { helpers, store } = parseDockerConfig(
      JSON.stringify({ credsStore: "desktop", credHelpers: { "https://index.docker.io/v1/": "pass", "gcr.io": "gcloud", x: 1 } }),
    );
    expect(store).toBe("desktop");
    expect([...helpers]).toEqual([
      ["docker.io", "pass"],
      ["gcr.io", "gcloud"],
    ]);
  });

  test.for([`{"auths": {"a": {"password": "hunter22"`, `["hunter22"]`, `"hunter22"`, ""])("refuses %j, and shows nothing of it", (text) => {
    const error = (() => {
      try {
        return parseDockerConfig(text);
      } catch (caught) {
        return caught;
      }
    })();
    expect(error).toMatchObject({ code: "VK_INVALID_INPUT" });
    expect(messageOf(error)).toBe("read registry credentials: expected a JSON object");
  });
});

test("the older form is the credentials alone", () => {
  expect(parseLegacyDockerConfig(JSON.stringify({ "https://index.docker.io/v1/": { auth: base64("ann:pw") } }))).toEqual([
    { key: "docker.io", credentials: { username: "ann", password: "pw" } },
  ]);
});

test("an identity token counts before a registry's, and both before name and password", () => {
  const entries = (entry: object): unknown =>
    parseDockerConfig(JSON.stringify({ auths: { a: entry } })).entries.map(({ credentials }) => credentials);
  const all = { identitytoken: "id", registrytoken: "bearer", username: "u", password: "p", auth: base64("v:q") };

  expect(entries(all)).toEqual([{ identityToken: "id" }]);
  expect(entries({ ...all, identitytoken: "" })).toEqual([{ registryToken: "bearer" }]);
  expect(entries({ ...all, identitytoken: 1, registrytoken: null })).toEqual([{ username: "v", password: "q" }]);
});

test("a name or a password alone is a credential", () => {
  const { entries } = parseDockerConfig(
    JSON.stringify({
      auths: { a: { username: "u" }, b: { password: "p" }, c: { auth: base64(":p") }, d: { auth: ` ${base64("u:p\nq")} ` } },
    }),
  );

  expect(entries.map(({ credentials }) => credentials)).toEqual([
    { username: "u", password: "" },
    { username: "", password: "p" },
    { username: "", password: "p" },
    { username: "u", password: "p\nq" },
  ]);
});

test("what is of another kind than it should be is left out", () => {
  expect(parseDockerConfig(JSON.stringify({ auths: ["a"], credHelpers: "x", credsStore: 1 }))).toEqual({
    entries: [],
    helpers: new Map(),
    store: undefined,
  });
  expect(parseDockerConfig(JSON.stringify({ auths: { a: ["u"], b: "u", c: 1 } })).entries).toEqual([]);
  expect(parseDockerConfig("{}")).toEqual({ entries: [], helpers: new Map(), store: undefined });
});
