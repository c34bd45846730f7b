// The line between a page and the demo, that a test can cut: a TCP relay on a port of its own.
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

/** A line that is up until it is cut. */
export class Line {
  readonly #server: Server;
  /** Each connection of the near side, and the one to the far side that carries on with it. */
  readonly #pairs = new Map<Socket, Socket>();
  /** Far ends that do not know yet that the near end is gone. */
  readonly #unaware = new Set<Socket>();
  #isCut = false;

  private constructor(targetPort: number) {
    this.#server = createServer((near) => this.#relay(near, targetPort));
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

  /** Ends every connection without a goodbye, and refuses new ones. */
  cut(): void {
    this.cutNearEnd();
    this.endFarEnd();
  }

  /** Cuts it so that the far side does not learn of it, as when somebody walks out of reach. */
  cutNearEnd(): void {
    this.#isCut = true;
    for (const [near, far] of this.#pairs) {
      this.#unaware.add(far);
      near.destroy();
    }
  }

  /** Lets the far side learn of connections that were cut at the near end. */
  endFarEnd(): void {
    for (const far of this.#unaware) far.destroy();
    this.#unaware.clear();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #relay(near: Socket, targetPort: number): void {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = connect(targetPort, "127.0.0.1");
    this.#pairs.set(near, far);
    near.pipe(far).pipe(near);
    near.once("close", () => {
      this.#pairs.delete(near);
      if (!this.#unaware.has(far)) far.destroy();
    });
    far.once("close", () => near.destroy());
    for (const socket of [near, far]) {
      socket.on("error", () => {
        // the close that follows is what counts
      });
    }
  }
}
