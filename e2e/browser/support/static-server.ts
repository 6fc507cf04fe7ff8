import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

/** A folder on loopback, as a host of static pages serves it. */
export interface StaticServer extends AsyncDisposable {
  /** Ends with a slash. */
  readonly url: string;
}

export async function serveFolder(folder: string): Promise<StaticServer> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
    void answer(join(folder, path), path).then(
      ({ status, file }) => {
        response.writeHead(status, { "content-type": types[extname(file ?? ".html")] ?? "application/octet-stream" });
        if (file === undefined) response.end("not found");
        else createReadStream(file).pipe(response);
      },
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    );
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(file: string, path: string): Promise<{ readonly status: number; readonly file?: string }> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile()) return { status: 200, file };
  if (found?.isDirectory() && path.endsWith("/")) return answer(join(file, "index.html"), `${path}index.html`);
  return { status: 404 };
}
