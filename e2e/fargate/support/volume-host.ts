import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ContainerGroup, ContainerHost, ContainerRun, GroupSpec, RunSpec } from "../../support/container-host/container-host.ts";

/** Only these paths become links, because a container shares the machine's file system. */
const allowedFiles = "/tmp/suite-";

/**
 * A host of processes whose containers share volumes. A volume is a folder. Processes have no mounts: a mount below `/tmp/suite-` is a link to the
 * folder, and any other mount's path is replaced by the folder's in the environment.
 */
export class VolumeHost implements ContainerHost {
  readonly #host: ContainerHost;

  constructor(host: ContainerHost) {
    this.#host = host;
  }

  async createGroup({ name, volumes = {} }: GroupSpec): Promise<ContainerGroup> {
    return new VolumeGroup(await this.#host.createGroup({ name }), Object.keys(volumes));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host[Symbol.asyncDispose]();
  }
}

class VolumeGroup implements ContainerGroup {
  readonly name: string;
  readonly address: string;
  readonly #group: ContainerGroup;
  readonly #root = mkdtempSync(join(tmpdir(), "vk-fake-volumes-"));
  readonly #links = new Set<string>();

  constructor(group: ContainerGroup, volumes: readonly string[]) {
    this.name = group.name;
    this.address = group.address;
    this.#group = group;
    for (const volume of volumes) mkdirSync(join(this.#root, volume));
  }

  run(spec: RunSpec): ContainerRun {
    const environment = { ...spec.environment };
    for (const { volume, path } of spec.mounts ?? []) {
      const folder = join(this.#root, volume);
      if (path.startsWith(allowedFiles)) this.#link(path, folder);
      else for (const [name, value] of Object.entries(environment)) environment[name] = value.replaceAll(path, folder);
    }
    return this.#group.run({ ...spec, environment, mounts: [] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#group[Symbol.asyncDispose]();
    for (const link of this.#links) rmSync(link, { force: true });
    rmSync(this.#root, { recursive: true, force: true });
  }

  #link(path: string, folder: string): void {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(folder, path);
    this.#links.add(path);
  }
}
