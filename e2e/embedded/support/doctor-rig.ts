import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { startApiServer, type ApiServer, type ClientUser } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "virtual-kubelet";
import { testContext } from "../../../packages/cli/src/test-support/test-context.ts";
import { parseDiagnosis, type Diagnosis } from "../../support/doctor.ts";
import { Program } from "../../support/program.ts";
import { accountOf, printedRights } from "./printed-rights.ts";
import { soon } from "./program-rig.ts";

const signal = new AbortController().signal;

/** How doctor is run. */
export interface DoctorOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

/** Name of the node that a program runs. */
export const nodeName = "vk";

/** User of the program. */
export const account: string = accountOf(nodeName).user;

/**
 * An API server whose rights are exactly the printed ones, a program that runs node `vk` there, and doctor beside it. The program's
 * certificate is approved, and the back end is the mock provider.
 */
export class DoctorRig implements AsyncDisposable {
  readonly server: ApiServer;
  readonly client: KubeClient;
  readonly folder: string;
  /** Port of the node's HTTPS server. */
  readonly port: number;
  readonly program: Program;

  private constructor(parts: Pick<DoctorRig, "server" | "folder" | "port" | "program">) {
    this.server = parts.server;
    this.client = createKubeClient(parts.server.transport());
    this.folder = parts.folder;
    this.port = parts.port;
    this.program = parts.program;
  }

  static async open(): Promise<DoctorRig> {
    const folder = await mkdtemp(join(tmpdir(), "vk-doctor-"));
    const port = await freePort();
    const server = await startApiServer({ objects: await printedRights(["--nodename", nodeName]) });
    await server.writeKubeconfig(join(folder, "kubeconfig"), accountOf(nodeName));
    await server.writeKubeconfig(join(folder, "admin"));
    const program = new Program(["--kubeconfig", "kubeconfig", ...flagsOf(port)], { cwd: folder });
    const rig = new DoctorRig({ server, folder, port, program });
    await eventually(async () => {
      const node = await rig.client.get(resources.nodes, { name: nodeName }, { signal });
      if (node.status?.conditions?.find(({ type }) => type === "Ready")?.status !== "True") throw new Error("the node is not ready");
      await rig.approve();
      const { findings } = await rig.diagnose();
      const request = findings.find(({ check }) => check === "certificate.request");
      const serving = findings.find(({ check }) => check === "certificate.serving");
      if (request?.status !== "pass" || !serving?.message.startsWith("issued by"))
        throw new Error(`${request?.message}; ${serving?.message}`);
    }, soon);
    return rig;
  }

  /** Approves the requests that wait. */
  async approve(): Promise<void> {
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const { items } = await this.client.list(resources.certificateSigningRequests, {}, { signal });
    for (const request of items.filter(({ status }) => status?.conditions === undefined)) {
      const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "approved" }];
      await this.client.raw("PUT", `${path}/${request.metadata?.name}/approval`, { ...request, status: { conditions } }, { signal });
    }
  }

  /** Runs doctor with the program's own flags; later ones override them. */
  async diagnose(words: readonly string[] = [], { env = {}, clock = systemClock }: DoctorOptions = {}): Promise<Diagnosis> {
    const context = testContext(clock, { cwd: this.folder, homeDir: this.folder, env: { HOME: this.folder, ...env } });
    const given = ["doctor", "-o", "json", "--kubeconfig", "kubeconfig", "--admin-kubeconfig", "admin", ...flagsOf(this.port), ...words];
    const code = await runProgram(given, context);
    return parseDiagnosis(code, context.stdout.text, context.stderr.text);
  }

  /** Writes a kubeconfig of another user. @returns its name */
  async kubeconfigOf(user: ClientUser): Promise<string> {
    await this.server.writeKubeconfig(join(this.folder, user.user), user);
    return user.user;
  }

  /** Writes a file in the folder of the kubeconfigs. @returns its name */
  async write(name: string, content: unknown): Promise<string> {
    await writeFile(join(this.folder, name), typeof content === "string" ? content : JSON.stringify(content));
    return name;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
    await this.server.close();
    await rm(this.folder, { recursive: true });
  }
}

function flagsOf(port: number): string[] {
  const node = ["--provider", "mock", "--nodename", nodeName, "--identity", "one"];
  return [...node, "--health-addr", "off", "--cert-dir", "pki", "--kubelet-address", "127.0.0.1", "--kubelet-port", String(port)];
}
