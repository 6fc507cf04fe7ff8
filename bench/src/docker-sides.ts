import type Docker from "dockerode";
import type { Runner } from "./pod-runner.ts";

/** The two containers of such a pod, one after the other, straight at the engine; until an inspection shows the second running. */
export function containerRunner(docker: Docker, image: string): Runner {
  return async (count) => {
    const made: Docker.Container[] = [];
    await Promise.all(
      Array.from({ length: count }, async () => {
        const sandbox = await docker.createContainer({ Image: image, HostConfig: { IpcMode: "shareable" } });
        made.push(sandbox);
        await sandbox.start();
        await sandbox.inspect();
        const joined = `container:${sandbox.id}`;
        const container = await docker.createContainer({ Image: image, HostConfig: { NetworkMode: joined, IpcMode: joined } });
        made.push(container);
        await container.start();
        const { State } = await container.inspect();
        if (!State.Running) throw new Error(`container ${container.id} does not run`);
      }),
    );
    return async () => {
      await Promise.all(made.map((container) => container.remove({ force: true, v: true })));
    };
  };
}
