// The copy button of a block with prompts copies what to type: the commands, without "$ " and without what they print.
function commandsOf(block) {
  const commands = [];
  let continues = false;
  for (const line of block.split("\n")) {
    if (line.startsWith("$ ")) commands.push(line.slice(2));
    else if (continues) commands.push(line);
    else continue;
    continues = line.endsWith("\\");
  }
  return commands.join("\n");
}

document$.subscribe(() => {
  for (const button of document.querySelectorAll(".highlight [data-clipboard-target]")) {
    const commands = commandsOf(button.closest(".highlight").querySelector("code").textContent);
    if (commands) button.setAttribute("data-clipboard-text", commands);
  }
});
