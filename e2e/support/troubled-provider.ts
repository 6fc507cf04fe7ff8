import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What the provider answers for the pod `broken`: text that a page must not take for markup, nor a terminal for a command. */
const hostileMessage = `no quota <img src=x onerror="alert(1)"> \u001b[2J`;

const source = `
const gone = () => Object.assign(new Error("no such pod"), { code: "VK_NOT_FOUND" });
function create(host) {
  const held = new Map();
  const get = ({ uid }) => { if (!held.has(uid)) throw gone(); return held.get(uid); };
  return {
    async createPod({ metadata: { namespace, name, uid }, spec }) {
      if (name === "broken") throw new Error(${JSON.stringify(hostileMessage)});
      if (name === "stuck") await new Promise(() => {});
      const containerStatuses = spec.containers.map((container) => ({ name: container.name, ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } }));
      const owner = { clusterId: host.clusterId, nodeName: host.nodeName };
      held.set(uid, { ref: { namespace, name, uid }, owner, status: { phase: "Running", containerStatuses } });
    },
    async updatePod() {},
    async deletePod(ref) { get(ref); held.delete(ref.uid); },
    async getPod(ref) { return get(ref); },
    async getPodStatus(ref) { return get(ref).status; },
    async getPods() { return { pods: [...held.values()], complete: true }; },
  };
}
const configSchema = { safeParse: (data) => ({ success: true, data }) };
export const provider = { name: "troubled", capabilities: { env: true, restarts: true }, configSchema, create };
`;

/** Writes a provider's module `troubled.mjs` into a folder: the pod `broken` fails to start, and the creation of `stuck` never ends. */
export async function writeTroubledProvider(folder: string): Promise<void> {
  await writeFile(join(folder, "troubled.mjs"), source);
}
