import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { eventually } from "../eventually.ts";
import { freePort } from "../processes/free-port.ts";
import { logTail, startProcess, type ManagedProcess } from "../processes/managed-process.ts";
import { startReaper, type Reaper } from "../processes/reaper.ts";
import { apiRequest, type ApiServerTarget } from "./api-request.ts";
import { ensureControlPlane, type EnsureControlPlaneOptions } from "./build-control-plane.ts";
import {
  apiServerFlags,
  commandLine,
  controllerManagerFlags,
  controlPlaneFiles,
  etcdFlags,
  schedulerFlags,
  type ComponentFlags,
  type ControlPlaneComponent,
  type ControlPlaneFiles,
} from "./component-flags.ts";
import { openControlPlane, writeKubeconfig, type ControlPlaneAccess, type ControlPlaneDescription } from "./control-plane-access.ts";
import { kubeconfigText } from "./kubeconfig.ts";
import { requireChosenKubernetes } from "./kubernetes-version.ts";
import { writePki } from "./pki.ts";

/** Options of {@link startControlPlane}. */
export interface StartControlPlaneOptions extends Omit<EnsureControlPlaneOptions, "programs"> {
  /** Processes besides etcd and kube-apiserver. Default: kube-controller-manager and kube-scheduler. */
  readonly components?: readonly ("kube-controller-manager" | "kube-scheduler")[] | undefined;
  /** Flags that override the launcher's, such as `{ "kube-controller-manager": { "node-monitor-grace-period": "20s" } }`. */
  readonly flags?: Readonly<Partial<Record<ControlPlaneComponent, ComponentFlags>>> | undefined;
  /** Level of the audit log; default: no audit log. */
  readonly audit?: "Metadata" | "Request" | "RequestResponse" | undefined;
  /** Folder for data, logs and keys. It must be new or empty, and is kept. Default: a temporary folder, which is removed at the end. */
  readonly dataDir?: string | undefined;
  /** Milliseconds until each process must respond; default: 120,000. */
  readonly startTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * A Kubernetes control plane of real processes on 127.0.0.1. They end when this object is disposed or the process that started them ends.
 */
export interface ControlPlane extends ControlPlaneAccess, AsyncDisposable {
  /** Each component's running or most recent process. */
  readonly processes: Readonly<Partial<Record<ControlPlaneComponent, ManagedProcess>>>;
  /** Kills kube-apiserver (SIGKILL); returns when it has ended. */
  killApiServer(): Promise<void>;
  /** Starts kube-apiserver again with the same port and data; returns when it is ready. */
  startApiServer(): Promise<void>;
  /** Ends kube-apiserver with SIGTERM and starts it again. */
  restartApiServer(): Promise<void>;
  /** Ends all processes and removes the temporary folder. Disposing does the same. */
  stop(): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver and the requested components; returns when the API server is ready and service accounts are created.
 *
 * @throws UnavailableError if programs are missing, or one of them does not start (the message contains the end of its log);
 * InvalidInputError if kube-apiserver does not have the version that `KUBERNETES` names; `signal.reason` when aborted
 */
export async function startControlPlane(options: StartControlPlaneOptions = {}): Promise<ControlPlane> {
  const components = options.components ?? ["kube-controller-manager", "kube-scheduler"];
  const programs = await ensureControlPlane({ ...options, programs: ["etcd", "kube-apiserver", "kubectl", ...components] });
  const directory = options.dataDir === undefined ? await mkdtemp(join(tmpdir(), "control-plane-")) : resolve(options.dataDir);
  const launcher = new Launcher({ ...options, components }, programs, controlPlaneFiles(directory));
  try {
    return await launcher.start();
  } catch (error) {
    await launcher.stop();
    throw error;
  }
}

class Launcher {
  readonly #options: StartControlPlaneOptions & { readonly components: readonly ControlPlaneComponent[] };
  readonly #programs: string;
  readonly #files: ControlPlaneFiles;
  readonly #clock: Clock;
  readonly #reaper: Reaper;
  readonly #processes: Partial<Record<ControlPlaneComponent, ManagedProcess>> = {};
  #port = 0;
  #target: ApiServerTarget = { server: "" };

  constructor(
    options: StartControlPlaneOptions & { readonly components: readonly ControlPlaneComponent[] },
    programs: string,
    files: ControlPlaneFiles,
  ) {
    this.#options = options;
    this.#programs = programs;
    this.#files = files;
    this.#clock = options.clock ?? systemClock;
    this.#reaper = startReaper(options.dataDir === undefined ? files.directory : undefined);
  }

  async start(): Promise<ControlPlane> {
    await this.#prepareFiles();
    const pki = writePki(this.#files.pki);
    const etcd = await this.#run("etcd", etcdFlags(this.#files));
    for (let attempt = 1; ; attempt++) {
      this.#port = await freePort();
      this.#target = {
        server: `https://127.0.0.1:${String(this.#port)}`,
        caCertificate: pki.authority.certificate,
        credentials: pki.admin,
      };
      try {
        await this.#startApiServer();
        break;
      } catch (error) {
        // Another process may take the port between this check and the server's start.
        const log = await logTail(join(this.#files.logs, "kube-apiserver.log"));
        if (attempt === 3 || etcd.exit !== undefined || !log.includes("address already in use")) throw error;
      }
    }
    this.#writeKubeconfigs(pki);
    await Promise.all(this.#options.components.map((component) => this.#startController(component, pki)));
    await this.#writeDescription();
    return this.#controlPlane();
  }

  async stop(): Promise<void> {
    const {
      etcd,
      "kube-apiserver": apiServer,
      "kube-controller-manager": controllerManager,
      "kube-scheduler": scheduler,
    } = this.#processes;
    await Promise.all([controllerManager?.stop(2000), scheduler?.stop(2000)]);
    // Without a limit it would wait until open watches end.
    await apiServer?.stop(2000);
    await etcd?.stop();
    this.#reaper[Symbol.dispose]();
    if (this.#options.dataDir === undefined) await rm(this.#files.directory, { recursive: true, force: true });
  }

  #controlPlane(): ControlPlane {
    return {
      ...openControlPlane(this.#files.directory),
      processes: this.#processes,
      killApiServer: async () => await this.#processes["kube-apiserver"]?.kill(),
      startApiServer: () => this.#startApiServer(),
      restartApiServer: async () => {
        await this.#processes["kube-apiserver"]?.stop();
        await this.#startApiServer();
      },
      stop: () => this.stop(),
      [Symbol.asyncDispose]: () => this.stop(),
    };
  }

  async #prepareFiles(): Promise<void> {
    const { directory, etcdPeerSocket, logs, auditPolicy } = this.#files;
    // sun_path has 108 bytes including the final NUL, on macOS 104.
    if (Buffer.byteLength(etcdPeerSocket) > 103)
      throw new InvalidInputError(`start a control plane in ${directory}: the path is too long for a Unix socket; name a shorter dataDir`);
    await mkdir(logs, { recursive: true, mode: 0o700 });
    if (this.#options.audit !== undefined) {
      await writeFile(
        auditPolicy,
        JSON.stringify({
          apiVersion: "audit.k8s.io/v1",
          kind: "Policy",
          omitStages: ["RequestReceived"],
          rules: [{ level: this.#options.audit }],
        }),
      );
    }
  }

  #writeKubeconfigs(pki: ReturnType<typeof writePki>): void {
    const identities = { admin: pki.admin, "kube-controller-manager": pki.controllerManager, "kube-scheduler": pki.scheduler };
    for (const [name, credentials] of Object.entries(identities)) {
      writeKubeconfig(join(this.#files.kubeconfigs, `${name}.json`), kubeconfigText({ ...this.#target, credentials }));
    }
  }

  async #startApiServer(): Promise<void> {
    const { audit, components } = this.#options;
    const serviceAccounts = components.includes("kube-controller-manager");
    const server = await this.#run(
      "kube-apiserver",
      apiServerFlags({ files: this.#files, port: this.#port, audit: audit !== undefined, serviceAccounts }),
    );
    await this.#answers(server, "/readyz");
  }

  async #startController(component: ControlPlaneComponent, pki: ReturnType<typeof writePki>): Promise<void> {
    if (component === "kube-scheduler") return void (await this.#run(component, schedulerFlags(this.#files)));
    // The program ends when it is refused, and a server that is ready may not have its role in the authorizer's cache yet.
    const server = this.#processes["kube-apiserver"];
    if (server !== undefined) await this.#answers(server, "/api/v1/namespaces/kube-system", pki.controllerManager);
    const manager = await this.#run(component, controllerManagerFlags(this.#files));
    // When this service account exists, all controllers work. A pod created earlier would be refused.
    await this.#answers(manager, "/api/v1/namespaces/default/serviceaccounts/default");
  }

  async #run(component: ControlPlaneComponent, flags: ComponentFlags): Promise<ManagedProcess> {
    const process = await startProcess(
      {
        name: component,
        program: join(this.#programs, component),
        args: commandLine(flags, this.#options.flags?.[component] ?? {}),
        environment: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: this.#files.directory },
        logFile: join(this.#files.logs, `${component}.log`),
      },
      { reaper: this.#reaper, clock: this.#clock },
    );
    this.#processes[component] = process;
    return process;
  }

  /** Waits until the API server answers the path with 200; fails if the process ends. @param credentials - default: the administrator's */
  async #answers(process: ManagedProcess, path: string, credentials = this.#target.credentials): Promise<void> {
    const target = { ...this.#target, credentials };
    const ended = new AbortController();
    void process.exited.then((exit) => ended.abort(new UnavailableError(`it ended with ${exit.signal ?? `code ${String(exit.code)}`}`)));
    const signal = this.#options.signal === undefined ? ended.signal : AbortSignal.any([ended.signal, this.#options.signal]);
    const check = async (checkSignal: AbortSignal): Promise<void> => {
      const answer = await apiRequest(target, "GET", path, { signal: checkSignal });
      if (answer.status !== 200) throw new UnavailableError(`GET ${path}: ${String(answer.status)} ${answer.body.slice(0, 500)}`);
    };
    try {
      await eventually(check, {
        describe: `${process.name} to come up`,
        timeoutMs: this.#options.startTimeoutMs ?? 120_000,
        intervalMs: 100,
        signal,
        clock: this.#clock,
      });
    } catch (cause) {
      this.#options.signal?.throwIfAborted();
      throw new UnavailableError(
        `start ${process.name}: it did not come up; the end of ${process.logFile}:\n${await logTail(process.logFile)}`,
        { cause },
      );
    }
  }

  async #writeDescription(): Promise<void> {
    const answer = await apiRequest(this.#target, "GET", "/version", { signal: this.#options.signal });
    const { gitVersion } = JSON.parse(answer.body) as { readonly gitVersion: string };
    if (this.#options.moduleDirectory === undefined) {
      // oxlint-disable-next-line node/no-process-env -- tests have no composition root; the option is there for those that do
      requireChosenKubernetes(gitVersion, this.#programs, this.#options.environment ?? process.env);
    }
    const description: ControlPlaneDescription = { server: this.#target.server, version: gitVersion, programs: this.#programs };
    await writeFile(join(this.#files.directory, "control-plane.json"), JSON.stringify(description));
  }
}
