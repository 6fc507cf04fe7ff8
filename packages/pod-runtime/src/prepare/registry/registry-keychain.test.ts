import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod, PodEvent, Secret } from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { askCredentialHelper } from "./credential-helper.ts";
import { RegistryKeychain } from "./registry-keychain.ts";

let folder = "";
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "registry-keychain-"))));
afterAll(() => rm(folder, { recursive: true }));

const signal = new AbortController().signal;
const auths = (entries: Record<string, string>): object =>
  Object.fromEntries(Object.entries(entries).map(([location, username]) => [location, { username, password: "pw" }]));

function secret(type: string, key: string, content: object): Secret {
  return { type, data: { [key]: Buffer.from(JSON.stringify(content)).toString("base64") } };
}

class KeychainRig {
  readonly secrets: Record<string, Secret> = {};
  readonly events: PodEvent[] = [];
  readonly logged: object[] = [];
  readonly asked: string[] = [];
  configFile: string | undefined;
  askHelper: typeof askCredentialHelper = (program, server) => {
    this.asked.push(`${program} ${server}`);
    return Promise.resolve({ username: "helped", password: "pw" });
  };

  async writeConfig(config: object | string): Promise<void> {
    this.configFile = join(folder, "config.json");
    await writeFile(this.configFile, typeof config === "string" ? config : JSON.stringify(config));
  }

  /** Users of the credentials for an image, in order. */
  async users(image: string, imagePullSecrets: string[] = [], abort: AbortSignal = signal): Promise<readonly string[]> {
    const keychain = new RegistryKeychain({
      host: {
        clock: new VirtualClock(),
        logger: { ...silentLogger, warn: (fields, message) => void this.logged.push({ ...fields, message }) },
        getSecret: (namespace, name) => {
          const found = namespace === "shop" ? this.secrets[name] : undefined;
          return found ? Promise.resolve(found) : Promise.reject(new NotFoundError(`get secret ${namespace}/${name}: there is none`));
        },
        recordEvent: (_, event) => void this.events.push(event),
      },
      configFile: this.configFile,
      askHelper: this.askHelper,
    });
    const pod: Pod = {
      metadata: { namespace: "shop", name: "web", uid: "u1" },
      spec: { containers: [], imagePullSecrets: imagePullSecrets.map((name) => ({ name })) },
    };
    const credentials = await keychain.credentials(pod, image, abort);
    return credentials.map((found) => ("username" in found ? found.username : "token"));
  }
}

describe("RegistryKeychain", () => {
  test("finds all matching credentials in a pod's secrets of both types, the best match first", async () => {
    const rig = new KeychainRig();
    rig.secrets["new"] = secret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", {
      auths: auths({ "quay.io": "host", "docker.io": "other", "*.io": "glob" }),
    });
    rig.secrets["old"] = secret("kubernetes.io/dockercfg", ".dockercfg", auths({ "quay.io/coreos": "path" }));

    expect(await rig.users("quay.io/coreos/etcd:v3", ["new", "old"])).toEqual(["path", "host", "glob"]);
    expect(await rig.users("busybox", ["new", "old"])).toEqual(["other", "glob"]);
    expect(await rig.users("ghcr.example.com/x", ["new", "old"])).toEqual([]);
  });

  test("returns a pod's own credentials before the node's, and those of the node's helper before those in its file", async () => {
    const rig = new KeychainRig();
    await rig.writeConfig({ auths: auths({ "quay.io": "node" }), credHelpers: { "quay.io": "pass" } });
    rig.secrets["own"] = secret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", { auths: auths({ "quay.io": "own" }) });

    expect(await rig.users("quay.io/coreos/etcd", ["own"])).toEqual(["own", "helped", "node"]);
    expect(rig.asked).toEqual(["docker-credential-pass quay.io"]);
  });

  test("uses the node's store for registries without a helper, with the old address for Docker's own", async () => {
    const rig = new KeychainRig();
    await rig.writeConfig({ credsStore: "desktop", credHelpers: { "quay.io": "pass" } });

    expect(await rig.users("busybox")).toEqual(["helped"]);
    expect(rig.asked).toEqual(["docker-credential-desktop https://index.docker.io/v1/"]);
  });

  test("runs only programs with a helper's name", async () => {
    const rig = new KeychainRig();
    await rig.writeConfig({ credsStore: "../../bin/sh" });

    expect(await rig.users("busybox")).toEqual([]);
    expect(rig.asked).toEqual([]);
  });

  test("a missing or malformed secret is left out with a kubelet's event, and its content is not shown", async () => {
    const rig = new KeychainRig();
    rig.secrets["good"] = secret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", { auths: auths({ "quay.io": "good" }) });
    rig.secrets["broken"] = {
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": Buffer.from("{hunter22").toString("base64") },
    };
    rig.secrets["opaque"] = secret("Opaque", ".dockerconfigjson", { auths: auths({ "quay.io": "opaque" }) });

    expect(await rig.users("quay.io/x", ["missing", "good", "broken", "opaque", ""])).toEqual(["good"]);
    expect(rig.events).toEqual([
      {
        type: "Warning",
        reason: "FailedToRetrieveImagePullSecret",
        message: expect.stringMatching(
          /^Unable to retrieve some image pull secrets \((missing, broken|broken, missing)\); attempting to pull the image may not succeed\.$/,
        ),
      },
    ]);
    expect(JSON.stringify(rig.logged.map((fields) => Object.values(fields).map(String)))).not.toContain("hunter22");
  });

  test("a helper or file that fails is logged and left out, except if it just has no credentials", async () => {
    const rig = new KeychainRig();
    await rig.writeConfig({ auths: auths({ "quay.io": "node" }), credsStore: "pass" });
    rig.askHelper = () => Promise.reject(new UnavailableError("locked"));
    expect(await rig.users("quay.io/x")).toEqual(["node"]);
    expect(rig.logged).toMatchObject([{ helper: "pass", registry: "quay.io" }]);

    rig.askHelper = () => Promise.reject(new NotFoundError("none"));
    expect(await rig.users("quay.io/x")).toEqual(["node"]);
    expect(rig.logged).toHaveLength(1);

    await rig.writeConfig("{");
    expect(await rig.users("quay.io/x")).toEqual([]);
    expect(rig.logged).toHaveLength(2);
  });

  test("rejects with the signal's reason when aborted", async () => {
    const rig = new KeychainRig();
    await rig.writeConfig({ credsStore: "pass" });
    await expect(rig.users("quay.io/x", [], AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  });
});

test("a single missing secret causes an event", async () => {
  const rig = new KeychainRig();

  expect(await rig.users("quay.io/x", ["missing"])).toEqual([]);

  expect(rig.events).toMatchObject([{ message: expect.stringContaining("(missing)") }]);
});

test("a pod without secrets on a node without a file has no credentials, and nothing is logged", async () => {
  const rig = new KeychainRig();

  expect([await rig.users("quay.io/x"), rig.events, rig.logged]).toEqual([[], [], []]);
});
