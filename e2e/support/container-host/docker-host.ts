import { systemClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import { connectEngine } from "../../../providers/docker/src/engine/connect-engine.ts";
import type { DockerEngine } from "../../../providers/docker/src/engine/docker-engine.ts";
import { EngineApi } from "../../docker/support/engine-api.ts";
import type { ContainerGroup, ContainerHost, GroupSpec, HostFile, RunSpec } from "./container-host.ts";
import { DockerRun } from "./docker-run.ts";

/** Options of a {@link DockerHost}. */
export interface DockerHostOptions {
  /** URL of the engine's socket, such as `unix:///run/docker.sock`. */
  readonly host: string;
  /** Prefix of the names of everything that this host creates; unique on the engine. */
  readonly prefix: string;
  /** Image whose container holds a group's network. It runs until SIGTERM. Default: `registry.k8s.io/pause:3.10`. */
  readonly pauseImage?: string | undefined;
  /** Control group of all containers. Default: the engine's. */
  readonly cgroupParent?: string | undefined;
}

/** Folder of the pause container at which a group's volumes are mounted while they are filled. */
const volumesFolder = "/volumes";

/** A group on an engine: a pause container whose network the others share, and named volumes. */
class DockerGroup implements ContainerGroup {
  readonly name: string;
  readonly address: string;
  readonly #parts: GroupParts;
  readonly #runs: DockerRun[] = [];
  #disposed: Promise<void> | undefined;

  constructor(name: string, address: string, parts: GroupParts) {
    this.name = name;
    this.address = address;
    this.#parts = parts;
  }

  run(spec: RunSpec): DockerRun {
    const { engine, pauseId, prefix, cgroupParent } = this.#parts;
    const run = new DockerRun(engine, spec, {
      containerName: `${prefix}-${spec.name}-${spec.attempt}`,
      pauseId,
      cgroupParent,
      volumeName: (volume) => `${prefix}-${volume}`,
    });
    this.#runs.push(run);
    return run;
  }

  /** The fake and its host may dispose a group at the same time. */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#disposed ??= this.#dispose());
  }

  async #dispose(): Promise<void> {
    const { api, pauseId, volumes, forget } = this.#parts;
    await Promise.all(this.#runs.map((run) => run.remove()));
    await api.remove(pauseId);
    for (const volume of volumes) await api.ask("DELETE", `/volumes/${volume}?force=1`);
    forget();
  }
}

interface GroupParts {
  readonly api: EngineApi;
  readonly engine: DockerEngine;
  readonly pauseId: string;
  /** Prefix of the group's names on the engine. */
  readonly prefix: string;
  readonly volumes: readonly string[];
  readonly cgroupParent: string | undefined;
  readonly forget: () => void;
}

/** Host that runs containers on a Docker engine. It pulls nothing: an image that the engine does not have is refused. */
export class DockerHost implements ContainerHost {
  readonly #options: DockerHostOptions;
  readonly #api: EngineApi;
  readonly #engine: DockerEngine & Disposable;
  readonly #groups = new Set<DockerGroup>();

  constructor(options: DockerHostOptions) {
    this.#options = options;
    this.#api = new EngineApi(options.host);
    const endpoint = { kind: "unix", socketPath: this.#api.socketPath } as const;
    this.#engine = connectEngine({ endpoint, clock: systemClock, logger: silentLogger });
  }

  async createGroup({ name, volumes = {} }: GroupSpec): Promise<ContainerGroup> {
    const { pauseImage = "registry.k8s.io/pause:3.10", cgroupParent } = this.#options;
    const prefix = `${this.#options.prefix}-${name}`;
    const volumeNames = Object.keys(volumes).map((volume) => `${prefix}-${volume}`);
    const config = {
      Image: pauseImage,
      HostConfig: {
        Binds: Object.keys(volumes).map((volume) => `${prefix}-${volume}:${volumesFolder}/${volume}`),
        ...(cgroupParent !== undefined && { CgroupParent: cgroupParent }),
      },
    };
    const { Id: pauseId } = (await this.#api.json("POST", `/containers/create?name=${encodeURIComponent(prefix)}`, config)) as {
      readonly Id: string;
    };
    try {
      await this.#api.json("POST", `/containers/${pauseId}/start`);
      for (const [volume, files] of Object.entries(volumes)) await this.#fill(pauseId, `${volumesFolder}/${volume}`, files);
      const { NetworkSettings } = (await this.#api.json("GET", `/containers/${pauseId}/json`)) as {
        readonly NetworkSettings: { readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>> };
      };
      const address = Object.values(NetworkSettings.Networks)[0]?.IPAddress ?? "";
      const group: DockerGroup = new DockerGroup(name, address, {
        api: this.#api,
        engine: this.#engine,
        pauseId,
        prefix,
        volumes: volumeNames,
        cgroupParent,
        forget: () => void this.#groups.delete(group),
      });
      this.#groups.add(group);
      return group;
    } catch (error) {
      await this.#api.remove(pauseId);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#groups].map((group) => group[Symbol.asyncDispose]()));
    this.#engine[Symbol.dispose]();
  }

  async #fill(pauseId: string, folder: string, files: readonly HostFile[]): Promise<void> {
    if (files.length === 0) return;
    const archive = pack();
    const bytes = buffer(archive);
    for (const { path, content, mode = 0o644 } of files) archive.entry({ name: path, mode }, content);
    archive.finalize();
    const path = `/containers/${pauseId}/archive?path=${encodeURIComponent(folder)}`;
    const { status, body } = await this.#api.ask("PUT", path, await bytes);
    if (status !== 200) throw new Error(`fill ${folder}: ${status} ${body.trim()}`);
  }
}
