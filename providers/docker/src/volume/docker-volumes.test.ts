import type { ClaimedVolume, ReleasedVolume, VolumeWish } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { containerMounts } from "../container/container-mounts.ts";
import type { DockerEngine, EngineRequest } from "../engine/docker-engine.ts";
import { DockerVolumes } from "./docker-volumes.ts";
import { driverVolumeOf } from "./driver-volume.ts";

const { signal } = new AbortController();
const owner = { clusterId: "cluster", nodeName: "vk" };
const claim = { namespace: "shop", name: "data", uid: "c1" };
const options = { driver: "sshfs", sshcmd: "host:/data" };
const source = { kind: "flexVolume", driver: "virtual-kubelet.io/docker-volume", options } as const;
const wish: VolumeWish = { name: "pvc-c1", provisioner: "p", claim, parameters: options, accessModes: ["ReadWriteOnce"] };
const released: ReleasedVolume = { name: "pvc-c1", provisioner: "p", claim, source };

function claimed(of: ClaimedVolume["source"]): ClaimedVolume {
  return { name: "pv-1", claim, source: of, accessModes: ["ReadWriteOnce"], isReadOnly: false, mountOptions: [] };
}

/** Volumes of an engine that keeps what it is told to. */
function engineWith(volumes: Record<string, object> = {}): { engine: DockerEngine; said: string[]; volumes: Record<string, object> } {
  const said: string[] = [];
  const json = async ({ method, path, body }: EngineRequest): Promise<unknown> => {
    said.push(`${method} ${path}`);
    const name = path.slice("/volumes/".length);
    if (method === "POST") {
      const { Name } = body as { Name: string };
      return (volumes[Name] ??= body as object);
    }
    if (!volumes[name]) throw new NotFoundError(`get ${name}: no such volume`);
    const found = volumes[name];
    if (method === "DELETE") delete volumes[name];
    return found;
  };
  return { engine: { json } as unknown as DockerEngine, said, volumes };
}

test("a volume of the engine is a flexVolume of its own driver, whose options name the engine's", () => {
  expect(driverVolumeOf(claimed(source), ["local", "sshfs"])).toEqual({ name: "pv-1", driver: "sshfs", options: { sshcmd: "host:/data" } });
  expect(driverVolumeOf(claimed({ ...source, driver: "example.com/disk" }), ["sshfs"])).toBeUndefined();
  expect(driverVolumeOf(claimed({ kind: "local", path: "/mnt" }), ["sshfs"])).toBeUndefined();
});

test.for([
  [[], 'got "sshfs", expected none: volumeDrivers in the provider'],
  [["local"], 'got "sshfs", expected local: volumeDrivers in the provider'],
] as const)("a driver that the configuration %j does not name is refused", async ([drivers, message]) => {
  expect(() => driverVolumeOf(claimed(source), drivers)).toThrow(message);
  const { engine, said } = engineWith();
  await expect(new DockerVolumes({ engine, owner, drivers }).provisionVolume(wish, signal)).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: expect.stringContaining(message),
  });
  expect(said).toEqual([]);
});

test("a claim's volume is made by its class's driver, once, and removed", async () => {
  const { engine, volumes } = engineWith();
  const provisioner = new DockerVolumes({ engine, owner, drivers: ["sshfs"] });

  expect(await provisioner.provisionVolume(wish, signal)).toEqual(source);
  expect(await provisioner.provisionVolume(wish, signal)).toEqual(source);
  expect(volumes["pvc-c1"]).toMatchObject({
    Driver: "sshfs",
    DriverOpts: { sshcmd: "host:/data" },
    Labels: { "virtual-kubelet.io/claim-uid": "c1" },
  });
  await provisioner.removeVolume(released, signal);
  await provisioner.removeVolume(released, signal);
  expect(volumes).toEqual({});
  await expect(provisioner.provisionVolume({ ...wish, accessModes: ["ReadWriteMany"] }, signal)).rejects.toThrow(
    "ReadWriteMany is not supported",
  );
});

test("a volume of the same name that somebody else made is neither taken nor removed", async () => {
  const { engine, volumes } = engineWith({ "pvc-c1": { Labels: null } });
  const provisioner = new DockerVolumes({ engine, owner, drivers: ["sshfs"] });

  await expect(provisioner.provisionVolume(wish, signal)).rejects.toMatchObject({ code: "VK_CONFLICT" });
  await expect(provisioner.removeVolume(released, signal)).rejects.toMatchObject({ code: "VK_CONFLICT" });
  await expect(provisioner.removeVolume({ ...released, source: { kind: "local", path: "/x" } }, signal)).rejects.toThrow(
    "it is not a volume of the engine",
  );
  expect(Object.keys(volumes)).toEqual(["pvc-c1"]);
});

test("a part of a volume is mounted by engines that can, and refused for those that would mount all", () => {
  const mount = {
    hostPath: "",
    containerPath: "/data",
    isReadOnly: false,
    volume: { name: "pv-1", driver: "local", options: { o: "size=1" }, subPath: "own" },
  };
  const engineMount = {
    Type: "volume",
    Source: "pv-1",
    Target: "/data",
    ReadOnly: false,
    VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: "local", Options: { o: "size=1" } } },
  };

  expect(containerMounts([{ ...mount, volume: { ...mount.volume, subPath: "" } }], "1.41")).toEqual([engineMount]);
  expect(containerMounts([mount], "1.45")).toEqual([{ ...engineMount, VolumeOptions: { ...engineMount.VolumeOptions, Subpath: "own" } }]);
  expect(() => containerMounts([mount], "1.44")).toThrow("mount own of volume pv-1: the engine has API 1.44, expected 1.45 or newer");
});
