//! SQL over blocks on several machines: an example.
//!
//! `chronoxide-sql worker` waits for parts of queries. `chronoxide-sql query` plans a query, sends parts to workers and
//! prints the rows. Workers open the blocks themselves, from an object store or a folder that all machines have.
//!
//! | module | contents |
//! |---|---|
//! | `session` | sessions of DataFusion that know tables of series and workers |
//! | `worker` | the server of a worker |

mod session;
mod worker;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;

use arrow::util::pretty::pretty_format_batches;
use clap::{Parser, Subcommand};
use datafusion::error::Result;
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion_distributed::display_plan_ascii;
use url::Url;

/// Answers SQL over blocks on several machines.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Examples:
  chronoxide-sql worker --listen 127.0.0.1:7001 &
  chronoxide-sql worker --listen 127.0.0.1:7002 &
  chronoxide-sql query --workers http://127.0.0.1:7001,http://127.0.0.1:7002 \\
    \"SELECT job, count(*) FROM series('s3://metrics/blocks/') GROUP BY job\""
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs parts of queries until it is stopped.
    ///
    /// A worker opens any file or URL that a query names, and has no passwords: let only trusted machines reach it.
    Worker {
        /// Address to listen on; port 0 takes a free one.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7001")]
        listen: SocketAddr,
    },
    /// Plans a query, runs it on the workers, and prints its rows.
    Query {
        /// URLs of workers, separated by commas. Without any, this process runs the query alone.
        #[arg(long, value_name = "URLS", value_delimiter = ',')]
        workers: Vec<Url>,
        /// Print the plan, and the parts that workers run, instead of rows.
        #[arg(long)]
        explain: bool,
        /// Statements, separated by semicolons. The last one is printed.
        #[arg(value_name = "SQL")]
        statements: String,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let run = match Arguments::parse().command {
        Command::Worker { listen } => worker::serve(listen).await,
        Command::Query { workers, explain, statements } => query(workers, explain, &statements).await,
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chronoxide-sql: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn query(workers: Vec<Url>, explain: bool, statements: &str) -> std::result::Result<(), Box<dyn Error>> {
    let context = session::coordinator(workers);
    let mut statements = DFParser::parse_sql(statements)?;
    let last = statements.pop_back().ok_or("no statement")?;
    for statement in statements {
        plan(&context, statement).await?.collect().await?;
    }
    let frame = plan(&context, last).await?;
    if explain {
        println!("{}", display_plan_ascii(&*frame.create_physical_plan().await?, false));
    } else {
        println!("{}", pretty_format_batches(&frame.collect().await?)?);
    }
    Ok(())
}

async fn plan(context: &SessionContext, statement: Statement) -> Result<DataFrame> {
    let plan = context.state().statement_to_plan(statement).await?;
    context.execute_logical_plan(plan).await
}
