import { spawn } from "node:child_process";
import { once } from "node:events";
import { freePort, startReaper } from "@virtual-kubelet/testing";

/** moto's server in its own process. */
export interface Moto extends AsyncDisposable {
  readonly endpoint: string;
  /** Ids of a subnet and a security group of moto's default VPC. */
  readonly subnet: string;
  readonly securityGroup: string;
}

const startTimeoutMs = 120_000;

/** Path of the Python installation with moto. @throws Error if the level is not prepared */
export function motoPython(): string {
  const python = process.env["MOTO_PYTHON"];
  if (!python)
    throw new Error("moto is not installed: run make test LEVEL=moto, which installs it, or set MOTO_PYTHON to a Python that has it");
  return python;
}

/** Starts moto's server on a free loopback port. Tasks stay in their status until they are stopped. */
export async function startMoto(): Promise<Moto> {
  await using disposables = new AsyncDisposableStack();
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const reaper = disposables.use(startReaper());
  const child = spawn(motoPython(), ["-m", "moto.server", "--host", "127.0.0.1", "--port", String(port)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (child.pid !== undefined) reaper.watch(child.pid);
  disposables.defer(async () => {
    const ended = child.exitCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await ended;
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString("utf8")).slice(-4000)));
  const deadline = performance.now() + startTimeoutMs;
  while (!(await answers(endpoint))) {
    if (child.exitCode !== null) throw new Error(`moto ended with ${child.exitCode}: ${errors}`);
    if (performance.now() > deadline) throw new Error(`moto did not listen within ${startTimeoutMs} ms: ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const hold = { model_name: "ecs::task", transition: { progression: "manual", times: 1_000_000 } };
  const answer = await fetch(`${endpoint}/moto-api/state-manager/set-transition`, { method: "POST", body: JSON.stringify(hold) });
  if (!answer.ok) throw new Error(`moto answered set-transition with ${answer.status}: ${await answer.text()}`);
  await answer.body?.cancel();
  const subnet = await firstOf(endpoint, "DescribeSubnets", "subnetId");
  const securityGroup = await firstOf(endpoint, "DescribeSecurityGroups", "groupId");
  const owned = disposables.move();
  return { endpoint, subnet, securityGroup, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

/** First id in the answer of an operation of EC2, which has XML. moto looks at the service in the credentials' scope, and checks no signature. */
async function firstOf(endpoint: string, action: string, element: string): Promise<string> {
  const authorization = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0";
  const body = new URLSearchParams({ Action: action, Version: "2016-11-15" });
  const answer = await fetch(endpoint, { method: "POST", headers: { authorization }, body });
  const text = await answer.text();
  const [, id] = new RegExp(`<${element}>([^<]+)<`).exec(text) ?? [];
  if (id === undefined) throw new Error(`moto answered ${action} without ${element}: ${text.slice(0, 500)}`);
  return id;
}

async function answers(endpoint: string): Promise<boolean> {
  const answer = await fetch(`${endpoint}/moto-api/`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}
