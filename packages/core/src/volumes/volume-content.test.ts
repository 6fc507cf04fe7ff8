import { isForbidden, isInvalidInput, isUnsupported, ForbiddenError, NotFoundError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, Pod, Secret } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { TokenWish } from "../pod-sources/token-request.ts";
import type { TrustAnchorsQuery } from "../pod-sources/trust-bundles.ts";
import { hasPayload, readVolume, type Volume, type VolumeSources } from "./volume-content.ts";

const { signal } = new AbortController();
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const plain: Pod = { metadata: { name: "web", labels: { app: "web" } }, spec: { containers: [{ name: "app" }] } };

/** Objects in memory, and a record of what was asked for. */
class FakeSources implements VolumeSources {
  readonly secrets: Record<string, Secret> = { keys: { data: { user: base64("root") } } };
  readonly configMaps: Record<string, ConfigMap> = { settings: { data: { colour: "blue" } } };
  readonly allocatable = undefined;
  readonly asked: (TokenWish | TrustAnchorsQuery)[] = [];
  refreshAtMs = 1_000;

  async getSecret(name: string): Promise<Secret> {
    return this.secrets[name] ?? Promise.reject(new NotFoundError(`secret "${name}" not found`));
  }

  async getConfigMap(name: string): Promise<ConfigMap> {
    return this.configMaps[name] ?? Promise.reject(new NotFoundError(`configmap "${name}" not found`));
  }

  async getToken(wish: TokenWish): Promise<{ token: string; expirationTimestamp: string; refreshAtMs: number }> {
    this.asked.push(wish);
    return { token: "t0ken", expirationTimestamp: "2026-01-01T01:00:00Z", refreshAtMs: (this.refreshAtMs += 1_000) };
  }

  async getTrustAnchors(query: TrustAnchorsQuery): Promise<string> {
    this.asked.push(query);
    return "PEM";
  }
}

/** Each file as `path mode content`. */
async function files(volume: Omit<Volume, "name">, { pod = plain, sources = new FakeSources() } = {}): Promise<string[]> {
  const { payload } = await readVolume({ name: "v", ...volume }, pod, sources, signal);
  return payload.files.map(
    ({ path, mode, content, uid }) =>
      `${path} ${mode.toString(8)}${uid === undefined ? "" : ` uid ${uid}`} ${Buffer.from(content).toString()}`,
  );
}

describe("a volume", () => {
  test("of each kind has its files, with the API server's default mode", async () => {
    expect(await files({ secret: { secretName: "keys" } })).toEqual(["user 644 root"]);
    expect(await files({ configMap: { name: "settings", defaultMode: 0o400 } })).toEqual(["colour 400 blue"]);
    expect(await files({ downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } })).toEqual(["n 644 web"]);
  });

  test("of an optional object that does not exist is empty, of a mandatory one an error", async () => {
    expect(await files({ secret: { secretName: "nope", optional: true } })).toEqual([]);
    expect(await files({ configMap: { name: "nope", optional: true } })).toEqual([]);
    await expect(files({ secret: { secretName: "nope" } })).rejects.toThrow('secret "nope" not found');
    await expect(files({ configMap: { name: "nope" } })).rejects.toThrow('configmap "nope" not found');
  });

  test("of an object that may not be read is an error also where it is optional", async () => {
    const sources = new FakeSources();
    sources.getSecret = () => Promise.reject(new ForbiddenError("no"));

    await expect(files({ secret: { secretName: "keys", optional: true } }, { sources })).rejects.toSatisfy(isForbidden);
  });

  test("never leads out of itself", async () => {
    const items = [{ key: "user", path: "../../etc/passwd" }];

    await expect(files({ secret: { secretName: "keys", items } })).rejects.toThrow("invalid path: must not contain '..': ../../etc/passwd");
  });

  test("without content of the API server's is an error", async () => {
    await expect(files({ emptyDir: {} })).rejects.toSatisfy(isInvalidInput);
  });
});

describe("a projected volume", () => {
  const sources = [
    { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
    { configMap: { name: "settings", items: [{ key: "colour", path: "c" }] } },
    { secret: { name: "keys", items: [{ key: "user", path: "u", mode: 0o600 }] } },
    { downwardAPI: { items: [{ path: "ns/labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
    { clusterTrustBundle: { path: "ca", signerName: "example.com/s", labelSelector: {} } },
  ];

  test("holds the files of all its sources, sorted by path", async () => {
    const fake = new FakeSources();

    expect(await files({ projected: { sources, defaultMode: 0o440 } }, { sources: fake })).toEqual([
      "c 440 blue",
      "ca 440 PEM",
      'ns/labels 440 app="web"',
      "token 440 t0ken",
      "u 600 root",
    ]);
    expect(fake.asked).toEqual([
      { audience: undefined, expirationSeconds: 3607 },
      { name: undefined, signerName: "example.com/s", labelSelector: {}, optional: false },
    ]);
  });

  test("is due for another read when the first of its tokens is", async () => {
    const projected = { sources: [{ serviceAccountToken: { path: "a", audience: "x" } }, { serviceAccountToken: { path: "b" } }] };

    expect((await readVolume({ name: "v", projected }, plain, new FakeSources(), signal)).refreshAtMs).toBe(2_000);
    expect((await readVolume({ name: "v", projected: { sources: [] } }, plain, new FakeSources(), signal)).refreshAtMs).toBeUndefined();
  });

  test("lets the later source win where two make the same file", async () => {
    const twice = [
      { secret: { name: "keys", items: [{ key: "user", path: "x" }] } },
      { configMap: { name: "settings", items: [{ key: "colour", path: "./x" }] } },
    ];

    expect(await files({ projected: { sources: twice } })).toEqual(["x 644 blue"]);
  });

  test("tells all that is missing at once, in a kubelet's words", async () => {
    const missing = [
      { secret: { name: "s" } },
      { secret: { name: "o", optional: true } },
      { configMap: { name: "settings", items: [{ key: "k", path: "k" }] } },
    ];
    const error = files({ projected: { sources: missing } });

    await expect(error).rejects.toThrow('[secret "s" not found, configmap references non-existent config key: k]');
    await expect(error).rejects.toSatisfy(isInvalidInput);
  });

  test("keeps its tokens from other users where the pod says who runs", async () => {
    const projected = { sources: [{ serviceAccountToken: { path: "token" } }] };
    const spec = (change: object): Pod => ({
      spec: { containers: [{ name: "a" }, { name: "b", securityContext: { runAsUser: 7 } }], ...change },
    });

    expect(await files({ projected }, { pod: spec({ securityContext: { runAsUser: 7 } }) })).toEqual(["token 600 uid 7 t0ken"]);
    expect(await files({ projected }, { pod: spec({ securityContext: { runAsUser: 8 } }) })).toEqual(["token 644 t0ken"]);
    expect(await files({ projected }, { pod: spec({ securityContext: { fsGroup: 9 } }) })).toEqual(["token 600 t0ken"]);
    expect(await files({ projected }, { pod: spec({}) })).toEqual(["token 644 t0ken"]);
  });

  test.each([
    ["podCertificate", { podCertificate: { signerName: "example.com/s", keyType: "ED25519" } }],
    ["somethingNew", { somethingNew: {} }],
  ])("with the source %s is not supported, and the field is named", async (field, source) => {
    const projected = { sources: [source as object, { secret: { name: "nope" } }] };
    const error: unknown = await files({ projected }).catch((thrown: unknown) => thrown);

    expect(isUnsupported(error)).toBe(true);
    expect(error).toMatchObject({ fieldPath: `spec.volumes[*].projected.sources[*].${field}` });
  });
});

test("a projected volume of one token is due when that is", async () => {
  const projected = { sources: [{ serviceAccountToken: { path: "a" } }, { secret: { name: "keys" } }] };

  expect((await readVolume({ name: "v", projected }, plain, new FakeSources(), signal)).refreshAtMs).toBe(2_000);
});

test("a token is asked for with an hour's life where the volume says nothing, and for whom it says", async () => {
  const fake = new FakeSources();
  await files(
    { projected: { sources: [{ serviceAccountToken: { path: "a" } }, { serviceAccountToken: { path: "b", audience: "vault" } }] } },
    { sources: fake },
  );

  expect(fake.asked).toEqual([
    { audience: undefined, expirationSeconds: 3_600 },
    { audience: "vault", expirationSeconds: 3_600 },
  ]);
});

test("an optional source that does not exist is left out of a projected volume, and a mandatory one is an error", async () => {
  const projected = (optional: boolean) => ({
    projected: {
      sources: [{ secret: { name: "nope", optional } }, { configMap: { name: "nope", optional } }, { secret: { name: "keys" } }],
    },
  });

  expect(await files(projected(true))).toEqual(["user 644 root"]);
  await expect(files(projected(false))).rejects.toThrow('[secret "nope" not found, configmap "nope" not found]');
});

test("an optional key that does not exist is left out as well", async () => {
  const items = [
    { key: "user", path: "u" },
    { key: "nope", path: "n" },
  ];

  expect(await files({ secret: { secretName: "keys", optional: true, items } })).toEqual(["u 644 root"]);
  await expect(files({ secret: { secretName: "keys", items } })).rejects.toThrow("references non-existent secret key: nope");
});

test("trust anchors are asked for by name or signer, and are optional where the volume says so", async () => {
  const fake = new FakeSources();
  await files({ projected: { sources: [{ clusterTrustBundle: { path: "a", name: "one", optional: true } }] } }, { sources: fake });

  expect(fake.asked).toEqual([{ name: "one", signerName: undefined, labelSelector: undefined, optional: true }]);
});

test("an empty downward API volume and an empty projected one have no files", async () => {
  expect(await files({ downwardAPI: {} })).toEqual([]);
  expect(await files({ projected: {} as never })).toEqual([]);
  expect(await files({ projected: { sources: [{ downwardAPI: {} }] } })).toEqual([]);
});

test("files come sorted by path, whatever their order", async () => {
  const sources = new FakeSources();
  sources.secrets["keys"] = { data: { c: base64("3"), a: base64("1"), b: base64("2") } };

  expect(await files({ secret: { secretName: "keys" } }, { sources })).toEqual(["a 644 1", "b 644 2", "c 644 3"]);
});

test("whoever gives up is told their own reason, not what could not be read", async () => {
  const stop = new AbortController();
  const sources = new FakeSources();
  sources.getSecret = () => {
    stop.abort(new Error("stop"));
    return Promise.reject(new NotFoundError("gone"));
  };
  const volume = { name: "v", projected: { sources: [{ secret: { name: "keys" } }] } };

  await expect(readVolume(volume, plain, sources, stop.signal)).rejects.toThrow("stop");
});

test.each([
  [{ configMap: {} }, true],
  [{ secret: {} }, true],
  [{ downwardAPI: {} }, true],
  [{ projected: { sources: [] } }, true],
  [{ emptyDir: {} }, false],
  [{}, false],
])("the content of %j comes from the API server: %s", (volume, expected) => {
  expect(hasPayload({ name: "v", ...volume })).toBe(expected);
});

test.each(["secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle"])(
  "a source that is none is told those that are: %s",
  async (names) => {
    await expect(files({ projected: { sources: [{}] } })).rejects.toThrow(`source none is not supported, expected ${names}`);
  },
);
