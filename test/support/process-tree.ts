// Processes and what they started, by their ids: tests end what they began, and nothing else.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** The ids of a process and of everything under it, as it is now. */
export function readProcessTree(pid: number): number[] {
  const parents = process.platform === "linux" ? readParentsFromProc() : readParentsFromPs();
  const tree = [pid];
  for (const parent of tree) {
    tree.push(...[...parents].filter(([, ppid]) => ppid === parent).map(([child]) => child));
  }
  return tree;
}

/** Whether a process runs; a zombie, ended and not yet collected, does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false; // no such process
  }
  return process.platform !== "linux" || readStat(pid)?.state !== "Z";
}

/** Sends SIGKILL to each; one that has ended already is fine. */
export function killProcesses(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has ended by itself
    }
  }
}

function readStat(pid: number): { state: string; ppid: number } | undefined {
  try {
    // pid (command, which may hold blanks and brackets) state ppid …
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state, ppid: Number(ppid) };
  } catch {
    return undefined; // it ended meanwhile
  }
}

function readParentsFromProc(): Map<number, number> {
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return new Map(pids.map((pid) => [pid, readStat(pid)?.ppid ?? -1]));
}

function readParentsFromPs(): Map<number, number> {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  return new Map(
    lines.map((line) => {
      const [pid, ppid] = line.trim().split(/\s+/).map(Number);
      return [pid ?? -1, ppid ?? -1] as const;
    }),
  );
}
