import { setTimeout as delay } from "node:timers/promises";
import { Api, type ApiAccess } from "./api.ts";

/** Waits until a node is Ready. @throws Error after 30 seconds, naming the folder of its log */
export async function waitUntilReady(access: ApiAccess, name: string, directory: string): Promise<void> {
  const api = new Api(access, { connections: 1 });
  try {
    for (let tries = 0; tries < 300; tries++) {
      const text = await api.send("GET", `/api/v1/nodes/${name}`).catch(() => "{}");
      const { status } = JSON.parse(text) as { status?: { conditions?: { type: string; status: string }[] } };
      if (status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True")) return;
      await delay(100);
    }
  } finally {
    await api.close();
  }
  throw new Error(`node ${name} did not become Ready within 30 s; its log is in ${directory}`);
}
