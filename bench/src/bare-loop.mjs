/**
 * The minimum that can run pods: a watch, and for each pod one status patch and one delete, without a controller. Our node is compared
 * with it. It is plain JavaScript because reading TypeScript costs memory, and uses undici 7, which needs less of it than undici 8.
 *
 * Usage: bare-loop.mjs KUBECONFIG NODE
 */
import { readFileSync } from "node:fs";
import { Pool } from "undici-7";

const [kubeconfig = "", node = ""] = process.argv.slice(2);
// The launcher writes JSON, so no YAML parser is loaded.
const { clusters, users } = JSON.parse(readFileSync(kubeconfig, "utf8"));
const [{ cluster }] = clusters;
const [{ user }] = users;
const decode = (base64) => base64 && Buffer.from(base64, "base64");
const connect = {
  ca: decode(cluster["certificate-authority-data"]),
  cert: decode(user["client-certificate-data"]),
  key: decode(user["client-key-data"]),
};
const headers = { accept: "application/json", ...(user.token && { authorization: `Bearer ${user.token}` }) };
const short = new Pool(cluster.server, { connect, connections: 32, allowH2: false });
const long = new Pool(cluster.server, { connect, allowH2: false, connections: 1, bodyTimeout: 0, headersTimeout: 0 });

/** UIDs of the pods that were started or ended and are not gone. */
const started = new Set();
const ended = new Set();
let lastIp = 0;

await registerNode();
for (;;) {
  try {
    await follow(await list());
  } catch (error) {
    process.stderr.write(`watch: ${String(error)}\n`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Lists the pods and returns the version of the list. */
async function list() {
  const { metadata, items } = JSON.parse(await send(long, "GET", podsPath("")));
  for (const pod of items) take("ADDED", pod);
  return metadata.resourceVersion;
}

/** Watches from a version; resumes when the server ends a watch. @throws Error if the server no longer has the version */
async function follow(resourceVersion) {
  for (;;) {
    const path = podsPath(`&watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`);
    const { statusCode, body } = await long.request({ method: "GET", path, headers });
    if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${await body.text()}`);
    body.setEncoding("utf8");
    let rest = "";
    for await (const chunk of body) {
      rest += chunk;
      let from = 0;
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", from)) {
        const { type, object } = JSON.parse(rest.slice(from, end));
        from = end + 1;
        if (type === "ERROR") throw new Error(object.message);
        resourceVersion = object.metadata.resourceVersion;
        if (type !== "BOOKMARK") take(type, object);
      }
      rest = rest.slice(from);
    }
  }
}

function take(type, pod) {
  const { uid, deletionTimestamp } = pod.metadata;
  if (type === "DELETED") {
    started.delete(uid);
    ended.delete(uid);
  } else if (deletionTimestamp) once(ended, pod, end);
  else once(started, pod, start);
}

function once(done, pod, act) {
  const { uid } = pod.metadata;
  if (done.has(uid)) return;
  done.add(uid);
  act(pod).catch((error) => process.stderr.write(`${String(error)}\n`));
}

async function start({ metadata: { namespace, name, uid }, spec }) {
  const time = now();
  const ip = `10.${(++lastIp >> 16) & 255}.${(lastIp >> 8) & 255}.${lastIp & 255}`;
  const status = {
    phase: "Running",
    startTime: time,
    hostIP: "127.0.0.1",
    podIP: ip,
    podIPs: [{ ip }],
    conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition),
    containerStatuses: spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: "",
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: time } },
    })),
  };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
  await send(short, "PATCH", path, { metadata: { uid }, status }, "application/merge-patch+json");
}

async function end({ metadata: { namespace, name, uid } }) {
  const options = { gracePeriodSeconds: 0, preconditions: { uid } };
  await send(short, "DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`, options);
}

async function registerNode() {
  const resources = { cpu: "10000", memory: "10000Gi", pods: "100000" };
  await send(short, "POST", "/api/v1/nodes", { metadata: { name: node, labels: { "kubernetes.io/hostname": node } } });
  const status = {
    capacity: resources,
    allocatable: resources,
    conditions: [{ ...condition("Ready"), reason: "KubeletReady", message: "", lastHeartbeatTime: now() }],
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
  };
  await send(short, "PATCH", `/api/v1/nodes/${node}/status`, { status }, "application/merge-patch+json");
}

/** Sends a request and returns the text of the response, which is not parsed. */
async function send(pool, method, path, content, type = "application/json") {
  const request = content ? { headers: { ...headers, "content-type": type }, body: JSON.stringify(content) } : { headers };
  // Without this option undici closes the connection after a DELETE with a body.
  const { statusCode, body } = await pool.request({ method, path, ...request, reset: false });
  const text = await body.text();
  if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text.slice(0, 300)}`);
  return text;
}

function podsPath(query) {
  return `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}${query}`;
}

function condition(type) {
  return { type, status: "True", lastTransitionTime: now() };
}

function now() {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
