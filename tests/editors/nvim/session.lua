-- nvim --headless --clean -l session.lua CONFIG SERVER FILE [YAML]: a session of a real editor with the real server; with
-- YAML, yaml-language-server is there too for a part of it. Prints a line for what holds, and ends with 1 at the first that
-- does not.
local config_file, server, file, yaml = arg[1], arg[2], arg[3], arg[4]

local function check(holds, what)
  io.stdout:write(holds and 'ok: ' or 'FAILED: ', what, '\n')
  if not holds then os.exit(1) end
end

local function wait(what, holds) check(vim.wait(20000, holds, 20), what) end

local config = dofile(config_file)
config.cmd[1] = server
vim.lsp.config('tileops', config)
vim.lsp.enable('tileops')
vim.cmd('filetype on')
vim.cmd.edit(file)
local buffer = vim.api.nvim_get_current_buf()
local function client() return vim.lsp.get_clients({ bufnr = buffer, name = 'tileops' })[1] end

wait('the server is attached', function() return client() and client().initialized end)
wait('a defect is shown', function() return #vim.diagnostic.get(buffer) > 0 end)
local defect = vim.diagnostic.get(buffer)[1]
check(defect.code == 'unknown-name' and defect.source == 'tileops', 'it is the unknown name: ' .. tostring(defect.code))
local line = vim.api.nvim_buf_get_lines(buffer, defect.lnum, defect.lnum + 1, false)[1]
check(line:sub(defect.col + 1, defect.end_col) == 'Q', 'it marks the name')

local document = vim.lsp.util.make_text_document_params(buffer)
local here = { textDocument = document, position = { line = defect.lnum, character = defect.col } }
local function ask(method, params)
  local answer, problem = client():request_sync(method, params, 10000, buffer)
  check(answer and not answer.err, method .. ' is answered' .. (problem and ': ' .. problem or ''))
  return answer.result
end
local completion = ask('textDocument/completion', here)
local labels = vim.tbl_map(function(item) return item.label end, completion.items or completion)
check(vim.tbl_contains(labels, 'M'), 'completion has the index')

-- Mend it, as a user would.
vim.api.nvim_buf_set_text(buffer, defect.lnum, defect.col, defect.lnum, defect.end_col, { 'M' })
wait('the defect is gone', function() return #vim.diagnostic.get(buffer) == 0 end)
local hover = ask('textDocument/hover', here)
check(hover.contents.value:find('M', 1, true) ~= nil, 'hover tells of the index')
vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
wait('hints stand in the text', function()
  vim.cmd.redraw()
  return #vim.lsp.inlay_hint.get({ bufnr = buffer }) > 0
end)
vim.api.nvim_win_set_cursor(0, { defect.lnum + 1, defect.col })
vim.lsp.buf.rename('Rows')
wait('the index is renamed', function()
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n'):find('Rows: Dim', 1, true) ~= nil
end)
wait('and nothing is wrong with that', function() return #vim.diagnostic.get(buffer) == 0 end)

local function text() return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') end
local function replace(from, to)
  for number, content in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local start, stop = content:find(from, 1, true)
    if start then
      vim.api.nvim_buf_set_text(buffer, number - 1, start - 1, number - 1, stop, { to })
      return vim.api.nvim_win_set_cursor(0, { number, start - 1 })
    end
  end
  check(false, 'the text has ' .. from)
end
local function codes()
  return vim.tbl_map(function(found) return found.code end, vim.diagnostic.get(buffer))
end

-- A fix, as the menu of a user's editor offers it.
replace('[Rows, Rows]', '[Rows, Rosw]')
wait('a misspelt name is a defect', function() return vim.tbl_contains(codes(), 'unknown-name') end)
replace("Rosw", "Rosw") -- the cursor stands at it
vim.lsp.buf.code_action({
  apply = true,
  filter = function(action) return action.kind == 'quickfix' and action.isPreferred end,
})
wait('the fix mends it', function() return text():find('[Rows, Rows]', 1, true) ~= nil and #codes() == 0 end)

-- Help for a call that is being written.
replace('flops: "Rows"', 'flops: "ceil_div(Rows, 2)"')
local position = vim.api.nvim_win_get_cursor(0)
local column = vim.api.nvim_get_current_line():find('2)', 1, true) - 1
local help = ask('textDocument/signatureHelp', {
  textDocument = document, position = { line = position[1] - 1, character = column },
})
check(help.signatures[1].label:find('ceil_div', 1, true) ~= nil, 'signature help tells of the call')
check((help.activeParameter or help.signatures[1].activeParameter) == 1, 'and of the argument')
replace('ceil_div(Rows, 2)', 'Rows')

-- A setting that changes while the server runs.
replace('Rows: Dim', 'Rows: Dim, Spare: Dim')
wait('an unused index is a defect', function() return vim.tbl_contains(codes(), 'unused-index') end)
local function set(levels)
  client().settings = { tileops = { codes = levels } }
  client():notify('workspace/didChangeConfiguration', { settings = client().settings })
end
set({ ['unused-index'] = 'ignore' })
wait('and none where the settings say so', function() return not vim.tbl_contains(codes(), 'unused-index') end)
set(vim.empty_dict())
wait('and one again', function() return vim.tbl_contains(codes(), 'unused-index') end)

-- Beside yaml-language-server: what both could say is said once.
if yaml then
  vim.lsp.config('yamlls', {
    cmd = { yaml, '--stdio' },
    filetypes = { 'yaml' },
    settings = { yaml = { schemaStore = { enable = false, url = '' } }, redhat = { telemetry = { enabled = false } } },
  })
  vim.lsp.enable('yamlls')
  vim.cmd.doautocmd('FileType')
  local function other() return vim.lsp.get_clients({ bufnr = buffer, name = 'yamlls' })[1] end
  wait('yaml-language-server is attached', function() return other() and other().initialized end)
  local places = {
    { 'keys', '  roofline:', 2 },
    { 'values', 'status: ', #'status: ' },
    { 'names in an expression', 'flops: "', #'flops: "' },
  }
  for _, place in ipairs(places) do
    local what, before, behind = unpack(place)
    local seen, twice, from = {}, {}, {}
    for number, content in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
      local start = content:find(before, 1, true)
      if start then
        local params = {
          textDocument = document, position = { line = number - 1, character = start - 1 + behind },
        }
        for id, answer in pairs(vim.lsp.buf_request_sync(buffer, 'textDocument/completion', params, 10000) or {}) do
          from[#from + 1] = id
          for _, item in ipairs(answer.result and (answer.result.items or answer.result) or {}) do
            local label = vim.trim(item.label)
            if seen[label] then twice[#twice + 1] = label end
            seen[label] = true
          end
        end
      end
    end
    check(#from == 2, 'both servers are asked for ' .. what)
    check(next(seen) ~= nil and #twice == 0, what .. ' are completed once ' .. table.concat(twice, ', '))
  end
  local found = vim.tbl_filter(function(code) return code == 'unused-index' end, codes())
  check(#found == 1 and #vim.diagnostic.get(buffer) == #codes(), 'a defect is said once')
  vim.lsp.enable('yamlls', false)
  wait('yaml-language-server is gone', function() return not other() end)
end

-- The server dies, and is started again with the text as it is in the editor.
local first = client()
local name = vim.fn.fnamemodify(server, ':t')
local own = vim.api.nvim_get_proc_children(vim.fn.getpid())
local served = vim.tbl_filter(function(id) return (vim.api.nvim_get_proc(id) or {}).name == name:sub(1, 15) end, own)
check(#served == 1, 'the server is a process of its own')
vim.uv.kill(served[1], 'sigkill')
wait('its end is noticed', function() return first:is_stopped() end)
vim.lsp.enable('tileops', false)
vim.lsp.enable('tileops')
vim.cmd.doautocmd('FileType')
wait('another is started', function() return client() and client().id ~= first.id and client().initialized end)
wait('and shows what is wrong', function() return vim.tbl_contains(codes(), 'unused-index') end)

local last = client()
last:stop()
wait('the server ends when it is told', function() return last:is_stopped() end)
os.exit(0)
