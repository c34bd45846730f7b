// The line between a page and the demo, that a test can cut: a TCP relay on a port of its own.
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

/** A line that is up until it is cut. */
export class Line {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(targetPort: number) {
    this.#server = createServer((near) => {
      const far = connect(targetPort, "127.0.0.1");
      for (const socket of [near, far]) this.#add(socket);
      if (this.#isCut) near.destroy();
      near.pipe(far).pipe(near);
      near.once("close", () => far.destroy());
      far.once("close", () => near.destroy());
    });
  }

  /** Opens a line to a port of this machine. */
  static async open(targetPort: number): Promise<Line> {
    const line = new Line(targetPort);
    await once(line.#server.listen(0, "127.0.0.1"), "listening");
    return line;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection without a goodbye, and every new one at once. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {
      // the close that follows ends the other side
    });
  }
}
