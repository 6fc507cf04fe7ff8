import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Network namespace that stands for a cluster: its pods' addresses are on its loopback interface. */
interface ClusterNetwork {
  /** Runs a shell script in it, which must succeed. */
  run(script: string): void;
  /** Starts a server on a pod's address that answers with its name and the address from which it was called. */
  serve(address: string, port: number, name: string): Promise<void>;
  /** Calls a server from a pod's address. @returns the answer, or the error's code */
  call(from: string, address: string, port: number): Promise<string>;
}

/** Two of them, joined by a cable. Needs root. */
export interface JoinedNetworks extends AsyncDisposable {
  readonly home: ClusterNetwork;
  readonly far: ClusterNetwork;
}

/** Ends of the cable, in a range for benchmarks of networks. */
const ends = { home: "198.18.0.1", far: "198.18.0.2" };

const server = `
const [address, port, name] = process.argv.slice(1);
const seen = (request) => name + " sees " + request.socket.remoteAddress;
require("node:http").createServer((request, response) => response.end(seen(request))).listen(Number(port), address, () => console.log("up"));
`;

const client = `
const [localAddress, host, port] = process.argv.slice(1);
const request = require("node:http").get({ host, port, localAddress, family: host.includes(":") ? 6 : 4, timeout: 5000 }, (response) => response.pipe(process.stdout));
request.on("timeout", () => request.destroy(Object.assign(new Error(), { code: "ETIMEDOUT" }))).on("error", ({ code }) => console.log(code));
`;

/**
 * Makes the two namespaces; nothing of it is visible outside of them.
 *
 * @param pods - addresses of the pods of each cluster
 * @param routes - ranges that each cluster sends through the cable
 */
export async function joinNetworks(
  pods: { readonly home: readonly string[]; readonly far: readonly string[] },
  routes: { readonly home: readonly string[]; readonly far: readonly string[] },
): Promise<JoinedNetworks> {
  const children: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const child of children.toReversed()) {
      const exited = once(child, "exit");
      if (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")) await exited;
    }
  };
  const start = async (program: string, args: readonly string[]): Promise<ChildProcess> => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    await Promise.race([
      once(child.stdout, "data"),
      once(child, "exit").then(() => Promise.reject(new Error(`${program} ${args.join(" ")} ended before it was up`))),
    ]);
    return child;
  };
  try {
    // The shell stays, because its namespace exists as long as it does.
    const hold = (): Promise<ChildProcess> =>
      start("unshare", ["--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"]);
    const holders = { home: await hold(), far: await hold() };
    const networks = { home: network(holders.home, start), far: network(holders.far, start) };
    networks.home.run(`ip link add cable type veth peer name cable netns ${holders.far.pid}`);
    for (const side of ["home", "far"] as const) {
      const other = ends[side === "home" ? "far" : "home"];
      networks[side].run(
        [
          `ip address add ${ends[side]}/30 dev cable && ip link set cable up`,
          ...pods[side].map((address) => `ip address add ${address} dev lo`),
        ].join(" && "),
      );
      networks[side].run(routes[side].map((range) => `ip route add ${range} via ${other}`).join(" && ") || "true");
    }
    return { ...networks, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function network({ pid }: ChildProcess, start: (program: string, args: readonly string[]) => Promise<ChildProcess>): ClusterNetwork {
  const inside = (...words: readonly string[]): string[] => [`--net=/proc/${pid}/ns/net`, ...words];
  return {
    run: (script) => void execFileSync("nsenter", inside("sh", "-euc", script)),
    async serve(address, port, name) {
      await start("nsenter", inside(process.execPath, "-e", server, address, String(port), name));
    },
    async call(from, address, port) {
      const child = spawn("nsenter", inside(process.execPath, "-e", client, from, address, String(port)), {
        stdio: ["ignore", "pipe", "inherit"],
      });
      return Buffer.concat(await child.stdout.toArray())
        .toString("utf8")
        .trim();
    },
  };
}
