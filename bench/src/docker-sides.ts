import type Docker from "dockerode";
import type { Runner } from "./pod-runner.ts";

/**
 * Creates the same two containers per pod directly through the engine's API, one after the other, until an inspection shows that the second
 * runs.
 */
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
